import type { ProviderFailures } from '../provider-failures.ts'

/** Max size of an event; the parser would otherwise buffer a line of any length. */
const maxEventBytes = 16 * 1024 * 1024
/** Max size of an error body. */
const maxErrorBytes = 64 * 1024

/**
 * Fetch for untrusted replies: events are bounded and valid UTF-8. It does not follow redirects, since the user chose
 * where the conversation goes.
 */
export function boundedFetch(failures: ProviderFailures): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    const { body, headers, status, statusText } = response
    if (body === null) return response
    const contentType = headers.get('content-type') ?? ''
    if (response.ok && /^(text\/html|application\/json)\b/.test(contentType)) {
      await body.cancel()
      throw failures.notAStream(contentType)
    }
    const bounded = response.ok
      ? withFailures(body, failures).pipeThrough(boundedEvents(failures))
      : body.pipeThrough(firstBytes(maxErrorBytes))
    return new Response(bounded, { status, statusText, headers })
  }
}

/** Maps a broken body to our own failure: the packages do not distinguish a partial reply from a whole one. */
function withFailures(body: ReadableStream<Uint8Array>, failures: ProviderFailures): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(failures.ofStream(error, undefined))
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function boundedEvents(failures: ProviderFailures): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let earlierLines = 0
  let line = 0
  return new TransformStream({
    transform(chunk, controller) {
      let from = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        line += end - from
        // An empty line, or one with only a carriage return, ends an event.
        earlierLines = line <= 1 ? 0 : earlierLines + line
        line = 0
        from = end + 1
      }
      line += chunk.length - from
      if (earlierLines + line > maxEventBytes) throw failures.tooLarge('an event of more than 16 MB')
      if (!isText(decoder, chunk)) throw failures.malformed(undefined)
      controller.enqueue(chunk)
    },
  })
}

function isText(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array): boolean {
  try {
    decoder.decode(chunk, { stream: true })
    return true
  } catch {
    return false
  }
}

function firstBytes(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let remaining = limit
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, remaining))
      remaining -= chunk.length
      if (remaining <= 0) controller.terminate()
    },
  })
}
