import type { App, RunView } from '../domain/app.ts'
import type { PlanView, TaskView } from '../domain/plan-views.ts'
import type { Door, StreamQuery, Told } from './api.ts'

/** The door of the engine in this very process. */
export function localDoor(app: App): Door {
  return {
    ...app,
    run: async (name) => (await app.show('/', `run:${name}`)) as RunView,
    plan: async (name) => (await app.show('/', `plan:${name.replace(/^plan:/, '')}`)) as PlanView,
    task: async (name) => (await app.show('/', `task:${name.replace(/^task:/, '')}`)) as TaskView,
    stream: (query) => streamOf(app, query),
  }
}

async function* streamOf(app: App, { run, signal, after }: StreamQuery): AsyncIterable<Told> {
  const queue: Told[] = []
  let failure: { error: unknown } | undefined
  let stir = Promise.withResolvers<void>()
  const add = (told?: Told) => {
    if (told) queue.push(told)
    stir.resolve()
  }
  const stopListening = app.listen((sign) => {
    if (run === undefined || sign.runId === run) add({ kind: 'live', sign })
  })
  signal.addEventListener('abort', () => add(), { once: true })
  const own = new AbortController()
  void (async () => {
    const until = AbortSignal.any([signal, own.signal])
    for await (const event of app.follow({ ...(after !== undefined && { after }), signal: until }))
      if (run === undefined || event.subject === `run:${run}` || event.payload['run'] === run)
        add({ kind: 'event', event })
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
        stir = Promise.withResolvers()
        await stir.promise
      }
    }
  } finally {
    stopListening()
    own.abort()
  }
}
