// The one way to the data: `get(path)` looks into what is embedded in the page first (a report opened from disk), then asks the server.

import { parseExactly } from './exactly';
import { Report } from './report';
import { serverToken } from './token';

export class ApiError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

// The dumps of a job have separate pages, at /dump/0/ and so on.
export const DUMP_PAGE = /^\/dump\/\d+(?=\/)/.exec(location.pathname)?.[0] ?? '';

let report: Report | null | undefined;

function embedded(): Report | null {
  if (report === undefined) {
    const text = document.getElementById('tensortap-data')?.textContent;
    report = text ? new Report(text) : null;
  }
  return report;
}

export function isReport(): boolean {
  return embedded() !== null;
}

function fromReport(data: Report, path: string): unknown {
  const answer = data.answer(path);
  if (answer === undefined) throw new ApiError('This is not part of the report; open the dump with `tensortap serve` to see it.', 404);
  return answer;
}

async function refusal(response: Response): Promise<ApiError> {
  let message = `the server answered ${response.status}`;
  try {
    const body = (await response.json()) as { error?: string };
    if (body.error) message = body.error;
  } catch {
    // Not JSON: the number of the status says enough.
  }
  return new ApiError(message, response.status);
}

async function ask(path: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    const headers = { ...options.headers, Authorization: `Bearer ${await serverToken()}` };
    // No cookies: those of this host belong to servers on other ports.
    response = await fetch(DUMP_PAGE + path, { ...options, headers, credentials: 'omit' });
  } catch (problem) {
    if (options.signal?.aborted) throw problem;
    throw new ApiError('The server does not answer. Is `tensortap serve` still running?', 0);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  const data = embedded();
  if (data) return fromReport(data, path) as Answer;
  return parseExactly(await (await ask(path, { signal })).text()) as Answer;
}

function decoded(text: string): ArrayBuffer {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes.buffer;
}

export async function getBinary(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  const data = embedded();
  if (data) return decoded(fromReport(data, path) as string);
  return (await ask(path, { signal })).arrayBuffer();
}

export async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json', 'X-Tensortap': '1' };
  return (await (await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Answer;
}

export type Parameters = Record<string, string | number | null | undefined | readonly string[]>;

// `address?name=value`, without what is empty; a list becomes a repeated parameter.
export function pathOf(address: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined || value === '') continue;
    if (name === 'dump' && value === 'a') continue;
    if (typeof value === 'object') value.forEach((part) => query.append(name, part));
    else query.append(name, String(value));
  }
  const text = query.toString();
  return text ? `${address}?${text}` : address;
}
