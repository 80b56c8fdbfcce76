import type { Clock, Millis } from '../../domain/clock.ts'

const maxLength = 8 * 1024 * 1024

interface FetchOptions {
  within: Millis
  body?: unknown
  key?: string
}

/** Fetches a small JSON document; undefined on any error or timeout. */
export async function fetchJson(url: string, clock: Clock, options: FetchOptions): Promise<unknown> {
  const answer = await fetchJsonOrReason(url, clock, options)
  return 'json' in answer ? answer.json : undefined
}

/** Fetches a small JSON document, or returns a short reason for the failure. */
export async function fetchJsonOrReason(
  url: string,
  clock: Clock,
  options: FetchOptions,
): Promise<{ json: unknown } | { why: string }> {
  const stop = new AbortController()
  void clock.sleep(options.within, stop.signal).then(() => stop.abort())
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: stop.signal,
      ...(options.body !== undefined && { method: 'POST', body: JSON.stringify(options.body) }),
      headers: {
        'content-type': 'application/json',
        ...(options.key !== undefined && { authorization: `Bearer ${options.key}` }),
      },
    })
    if (!response.ok) return { why: `status ${response.status}` }
    const text = await response.text()
    return text.length > maxLength ? { why: 'the answer is too long' } : { json: JSON.parse(text) }
  } catch (error) {
    return { why: stop.signal.aborted ? `no answer within ${options.within / 1000} s` : reasonFor(error) }
  } finally {
    stop.abort()
  }
}

function reasonFor(error: unknown): string {
  if (error instanceof SyntaxError) return 'the answer is not JSON'
  const { code, message } = ((error as Error).cause ?? {}) as { code?: string; message?: string }
  return reasons.get(code ?? message ?? '') ?? code ?? 'connection failed'
}

const reasons = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection closed'],
  ['ENOTFOUND', 'unknown host'],
  ['bad port', 'this port is not allowed'],
])
