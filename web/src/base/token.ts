// The token of the server. It comes with the address that `tensortap serve` prints, and stays in this tab: a cookie would go to every other
// server of this machine. A tab that was opened by a link asks the other tabs of the same server for it.

const KEY = 'tensortap token';
const OTHER_TABS = 'tensortap token';
const PATIENCE = 2000;

type Message = { asks: true } | { token: string };

let known: Promise<string> | undefined;

// From the address, which then shows it no more.
function taken(): string {
  const parameters = new URLSearchParams(location.search);
  const given = parameters.get('token');
  if (given === null) return sessionStorage.getItem(KEY) ?? '';
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', location.pathname + location.hash);
  return given;
}

// '' when no other tab knows it.
function askedOf(tabs: BroadcastChannel): Promise<string> {
  return new Promise((done) => {
    const timer = setTimeout(() => done(''), PATIENCE);
    tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if (!('token' in data)) return;
      clearTimeout(timer);
      sessionStorage.setItem(KEY, data.token);
      done(data.token);
    });
    tabs.postMessage({ asks: true } satisfies Message);
  });
}

async function found(): Promise<string> {
  const tabs = new BroadcastChannel(OTHER_TABS);
  const token = taken() || (await askedOf(tabs));
  if (token === '') {
    tabs.close();
    return token;
  }
  tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if ('asks' in data) tabs.postMessage({ token } satisfies Message);
  });
  return token;
}

// Returns '' when the token is unknown: the server's answer then explains what to do, and the next call asks the other tabs again.
export async function serverToken(): Promise<string> {
  known ??= found();
  const token = await known;
  if (token === '') known = undefined;
  return token;
}
