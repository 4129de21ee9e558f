#include "report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "serve/page_files.h"

namespace tensortap {
namespace {

using testing::HasSubstr;
using testing::Not;

PageParts small_parts() {
  return {R"(<html><head><meta charset="utf-8" /><link rel="stylesheet" href="app.css" /><script src="app.js" defer></script></head>)"
          "<body></body></html>",
          "run();", "b{}"};
}

TEST(ReportPage, HoldsScriptStyleAndDataAndForbidsAllElse) {
  const auto page = report_page(small_parts(), R"({"/api/dump":1})");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_THAT(*page, HasSubstr(R"(<script type="application/json" id="tensortap-data">{"/api/dump":1}</script>)"));
  EXPECT_THAT(*page, HasSubstr("<script>run();</script>"));
  EXPECT_THAT(*page, HasSubstr("<style>b{}</style>"));
  EXPECT_THAT(*page, Not(HasSubstr("app.js")));
  EXPECT_THAT(*page, Not(HasSubstr("app.css")));
  EXPECT_THAT(*page, HasSubstr("default-src 'none'"));
  // printf 'run();' | openssl dgst -sha256 -binary | base64
  EXPECT_THAT(*page, HasSubstr("script-src 'sha256-vUOElbTHLp1UxxGV/I6teJfpCV5vgaasYjEhPKN2fqQ='"));
  EXPECT_THAT(*page, HasSubstr("style-src 'sha256-7yqHVAesot11p6HczDsgKRipvI5UPgs97z80zNXlans='"));
}

TEST(ReportPage, TheRealPageFits) {
  const PageParts parts{page_file("index.html"), page_file("app.js"), page_file("app.css")};
  EXPECT_GT(parts.script.size(), 10'000U);
  EXPECT_EQ(page_file("../index.html"), "");
  const auto page = report_page(parts, "{}");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_THAT(*page, HasSubstr("<div id=\"page\">"));
}

TEST(ReportPage, ABundleThatWouldEndItsElementIsRefused) {
  for (const char* script : {"'</SCRIPT>'", "'<!--'", "a\r\nb"}) {
    PageParts parts = small_parts();
    parts.script = script;
    EXPECT_FALSE(report_page(parts, "{}").ok()) << script;
  }
  PageParts parts = small_parts();
  parts.style = "</style>";
  EXPECT_FALSE(report_page(parts, "{}").ok());
  parts = small_parts();
  parts.html = "<html></html>";
  EXPECT_FALSE(report_page(parts, "{}").ok());
}

}  // namespace
}  // namespace tensortap
