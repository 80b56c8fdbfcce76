import type { Clock, Millis } from '../domain/clock.ts'

const largest = 8 * 1024 * 1024

/** What a server answers to a small question, as JSON; undefined for anything else, for none in time, and for an error. */
export async function askJson(
  url: string,
  clock: Clock,
  options: { within: Millis; body?: unknown; key?: string },
): Promise<unknown> {
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
    const text = response.ok ? await response.text() : ''
    return text.length > largest ? undefined : JSON.parse(text)
  } catch {
    // Not there, not in time, not JSON: for whoever looks around these are the same.
    return undefined
  } finally {
    stop.abort()
  }
}
