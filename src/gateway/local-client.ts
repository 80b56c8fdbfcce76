import type { App } from '../api/app.ts'
import type { Heddle } from '../api/heddle.ts'
import { isAboutRun } from '../domain/event.ts'
import type { Client, StreamItem, StreamQuery } from './api.ts'
import { namedViews } from './named-views.ts'

/** Client of the engine in this process, with the rights of this App. */
export function localClient(heddle: Pick<Heddle, 'listen'>, app: App): Client {
  return {
    ...app,
    ...namedViews(app),
    stream: (query) => streamOf(heddle, app, query),
  }
}

async function* streamOf(
  heddle: Pick<Heddle, 'listen'>,
  app: App,
  { run, signal, after }: StreamQuery,
): AsyncIterable<StreamItem> {
  const queue: StreamItem[] = []
  let failure: { error: unknown } | undefined
  let changed = Promise.withResolvers<void>()
  const add = (item?: StreamItem) => {
    if (item) queue.push(item)
    changed.resolve()
  }
  const stopListening = heddle.listen((delta) => {
    if (run === undefined || delta.runId === run) add({ kind: 'live', delta: delta })
  })
  signal.addEventListener('abort', () => add(), { once: true })
  const own = new AbortController()
  void (async () => {
    const until = AbortSignal.any([signal, own.signal])
    for await (const event of app.follow({ ...(after !== undefined && { after }), signal: until }))
      if (run === undefined || isAboutRun(event, run)) add({ kind: 'event', event })
  })().catch((error) => {
    failure = { error }
    add()
  })
  try {
    while (!signal.aborted) {
      const next = queue.shift()
      if (next) yield next
      else if (failure) throw failure.error
      else {
        changed = Promise.withResolvers()
        await changed.promise
      }
    }
  } finally {
    stopListening()
    own.abort()
  }
}
