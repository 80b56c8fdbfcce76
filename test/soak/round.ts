import { setTimeout as pause } from 'node:timers/promises'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { MediocreName } from '../../src/testing.ts'
import type { Databases } from '../crash/databases.ts'
import type { Watch } from '../crash/watch.ts'
import type { Chance } from '../engine/simulator-schedule.ts'
import { seedFor } from '../testing/mediocre-endings.ts'
import { judge, type Outcome } from './judge.ts'
import type { SoakRow } from './rows.ts'
import { openStage, type Stage } from './stage.ts'

/** Replies that come between one kill and the next; fewer where somebody else goes on meanwhile. */
const [fewestReplies, mostReplies, mostBeside] = [2, 8, 3]
/** Milliseconds after the last of them. */
const longestPause = 200
const lookEvery = 200
/** Whatever has not come to rest by then hangs. */
const longestRound = 300_000

export interface RoundOptions {
  /** The server that rows on PostgreSQL make a database of their own on. */
  server: string
  databases: Databases
  checker: Watch
  chance: Chance
  tasks: number
  mostKills: number
  /** Who is the coordinator and the planner; without it one that does it well. */
  teller: MediocreName | undefined
  /** Told of the stage as soon as there is something to remove. */
  onStage(stage: Stage): void
}

/** One plan from the question to its end, with daemons that die meanwhile; then what came of it is judged. */
export async function playRound(row: SoakRow, options: RoundOptions): Promise<Outcome> {
  const { chance, checker, databases, server, tasks, teller, mostKills } = options
  const goal = `${tasks} tasks by all models${teller ? `, told by the ${teller}` : ''}`
  const stage = await openStage(row, { databases, server, chance, seed: seedFor(goal, teller, true) })
  options.onStage(stage)
  try {
    await stage.startDaemons()
    const asking = row.asks ? stage.start('ask', '--json', goal) : undefined
    const accepted = asking ? [] : [await handIn(stage, goal)]
    const over = whenQuiet(stage, asking?.ended)
    const kills = await killUntil(over, stage, { chance, mostKills })
    await over.promise
    for (let which = 0; which < row.daemons; which++) await stage.endDaemon(which, 'SIGTERM')
    const answered = asking && (JSON.parse((await asking.ended).out) as RequestAnswer)
    return await judge(stage, checker, { kills, accepted, answered })
  } finally {
    await stage.remove()
  }
}

async function handIn(stage: Stage, content: string): Promise<{ accepted: string; content: string }> {
  const { itemId = '' } = await stage.json<RequestAnswer>('ask', '--no-wait', content)
  return { accepted: itemId, content }
}

/** Kills a daemon after a few replies, at any moment of what follows, and starts it again; until the plan is over. */
async function killUntil(
  over: Over,
  stage: Stage,
  { chance, mostKills }: { chance: Chance; mostKills: number },
): Promise<number> {
  const { provider, row } = stage
  const most = row.daemons > 1 || row.asks ? mostBeside : mostReplies
  const answered = () => provider.log.filter(({ kind }) => kind === 'answered').length
  let kills = 0
  while (kills < mostKills) {
    const due = answered() + fewestReplies + chance(most - fewestReplies + 1)
    await Promise.race([over.promise, provider.until(() => answered() >= due)])
    await pause(chance(longestPause))
    if (over.isOver) break
    await stage.endDaemon(chance(row.daemons), row.signal)
    kills++
    await stage.startDaemons()
  }
  return kills
}

interface Over {
  promise: Promise<void>
  isOver: boolean
}

/** Resolves when nothing is left to do, and whoever asked has been answered. It gives no sign of its own: it is looked for. */
function whenQuiet(stage: Stage, asking: Promise<unknown> | undefined): Over {
  const over: Over = { isOver: false, promise: Promise.resolve() }
  const look = async () => {
    await asking
    for (;;) {
      const { runs } = await stage.json<{ runs: unknown[] }>('ps')
      if (runs.length === 0) break
      await pause(lookEvery)
    }
  }
  const tooLong = new AbortController()
  const late = pause(longestRound, undefined, { signal: tooLong.signal }).then(async () => {
    throw new Error(`not at rest: ${JSON.stringify(await stage.json('ps'))}`)
  })
  over.promise = Promise.race([look(), late]).finally(() => {
    over.isOver = true
    tooLong.abort()
  })
  // Whoever waits for it hears of a failure; until then it is nobody's.
  over.promise.catch(() => undefined)
  return over
}
