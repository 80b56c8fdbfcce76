import type { ProviderFailures } from './provider-failures.ts'

/** The largest event of a stream; the parser behind it would keep a line of any length in memory. */
const largestEvent = 16 * 1024 * 1024
/** As much of an error's text as anybody reads. */
const longestError = 64 * 1024

/**
 * A fetch for replies that come from anywhere: what it passes on has bounded events and is valid UTF-8. It does not
 * follow redirects, since the owner chose where the conversation goes.
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
      ? named(body, failures).pipeThrough(boundedEvents(failures))
      : body.pipeThrough(firstBytes(longestError))
    return new Response(bounded, { status, statusText, headers })
  }
}

/** A body that breaks off says so in our words: the packages lose the difference between a reply and its beginning. */
function named(body: ReadableStream<Uint8Array>, failures: ProviderFailures): ReadableStream<Uint8Array> {
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
        // An empty line, or one that holds a carriage return only, ends an event.
        earlierLines = line <= 1 ? 0 : earlierLines + line
        line = 0
        from = end + 1
      }
      line += chunk.length - from
      if (earlierLines + line > largestEvent) throw failures.tooLarge('an event of more than 16 MB')
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
  let left = limit
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.terminate()
    },
  })
}
