import type { Clock } from '../../src/domain/clock.ts'
import type { Model } from '../../src/domain/model.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { startWorker, type Worker } from '../../src/engine/run/worker/worker.ts'
import type { Engine } from '../../src/engine/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestEngine } from './engine.ts'

const never = new Promise<never>(() => undefined)

/** A process that a test can kill: nothing that it asked for ever comes back to it, though it may have happened. */
export interface Mortal {
  /** Resolves when it has begun to work. */
  worker: Promise<Worker>
  /** What it did that another process could die at, in order. */
  passes: string[]
  /** Resolves when it has died. */
  died: Promise<void>
  kill(): void
}

/**
 * Starts a process on the rows of an engine. It dies by itself at the n-th thing that it asks of the world, or that it
 * does of the kind that is named: how often it looks around meanwhile differs from time to time.
 */
export function startMortal(
  under: TestEngine,
  options: { dieAt?: number; counting?: RegExp; model?: Model; clock?: Clock } = {},
): Mortal {
  const { engine, locks } = under
  const death = new AbortController()
  const died = Promise.withResolvers<void>()
  const owners: string[] = []
  const passes: string[] = []
  const underWay = new Set<Promise<unknown>>()
  const kill = () => {
    death.abort()
    // As a server does: what a dead process has begun to write is over before its lock is free.
    void Promise.allSettled(underWay).then(() => {
      for (const workerId of owners) locks.kill(workerId)
      died.resolve()
    })
  }
  const pass = async (what: string): Promise<void> => {
    if (death.signal.aborted) return never
    if (options.counting?.test(what) === false) return
    if (passes.push(what) !== options.dieAt) return
    kill()
    return never
  }
  const mortal: Engine = {
    ...engine,
    store: mortalStore(engine.store, { pass, underWay, dead: death.signal }),
    clock: mortalClock(options.clock ?? engine.clock, death.signal),
    model: (name) => mortalModel(options.model ?? engine.model(name), pass),
    tools: new Map([...engine.tools].map(([name, tool]) => [name, mortalTool(tool, pass)])),
  }
  const worker = startWorker(mortal, {
    locks: {
      hold(workerId) {
        owners.push(workerId)
        return locks.hold(workerId)
      },
      isHeld: (workerId) => locks.isHeld(workerId),
      left: (now) => locks.left(now),
    },
    pid: process.pid,
    onError: (error) => under.troubles.push(error),
  })
  return { worker, passes, died: died.promise, kill }
}

type Pass = (what: string) => Promise<void>

interface Life {
  pass: Pass
  underWay: Set<Promise<unknown>>
  dead: AbortSignal
}

function mortalStore(store: Store, { pass, underWay, dead }: Life): Store {
  return {
    ...store,
    async write(area, body) {
      await pass(`${area} is written`)
      const writing = store.write(area, body)
      underWay.add(writing)
      const value = await writing.finally(() => underWay.delete(writing))
      await pass(`${area} was written`)
      return value
    },
    async read(body) {
      await pass('rows are read')
      return store.read(body)
    },
    onHint: (listener) =>
      store.onHint((hint) => {
        if (!dead.aborted) listener(hint)
      }),
  }
}

/** The dead do not wake, and leave no timer behind. */
function mortalClock(clock: Clock, dead: AbortSignal): Clock {
  return {
    ...clock,
    async sleep(duration, signal) {
      await clock.sleep(duration, AbortSignal.any(signal ? [signal, dead] : [dead]))
      if (dead.aborted) await never
    },
  }
}

function mortalModel(model: Model, pass: Pass): Model {
  return {
    ...model,
    async reply(request, onDelta) {
      await pass('the model is asked')
      const reply = await model.reply(request, onDelta)
      await pass('the model has replied')
      return reply
    },
  }
}

function mortalTool(tool: Tool, pass: Pass): Tool {
  if (tool.effect === 'transactional') return tool
  return {
    ...tool,
    async run(input, call) {
      await pass(`${tool.name} is called`)
      const outcome = await tool.run(input, call)
      await pass(`${tool.name} was called`)
      return outcome
    },
  }
}
