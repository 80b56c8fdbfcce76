import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { CrashPoint } from '../../src/domain/crash-points.ts'
import { heddleWithModel } from '../cli/heddle-with-model.ts'
import { inTurn } from '../setup/long.ts'
import { databases, newPlace } from '../setup/places.ts'
import { untilSo } from '../setup/until.ts'

const points: CrashPoint[] = [
  ...(['fire.before_commit', 'fire.after_commit', 'settle.before_commit', 'settle.after_commit'] as const),
  ...(['send.before_commit', 'send.after_commit'] as const),
]

interface Lists {
  fires: { outcome: string; status?: string }[]
  messages: { state: string }[]
  turns: { depth: number }[]
}

describe.each(databases)('a daemon on %s that is killed', (database) => {
  const heddle = heddleWithModel(() => ({ text: 'all is well' }))
  let remove: (() => Promise<void> | void) | undefined
  afterEach(() => remove?.())

  // One database has its turn before the commits while the other has it after them.
  const order = database === 'sqlite' ? points : [...points.slice(1), ...points.slice(0, 1)]
  test.each(inTurn(order, 1))('at %s fires once and delivers once, when the next one goes on', async (point) => {
    const place = newPlace(database)
    remove = place.remove
    if (place.place.kind === 'postgres')
      appendFileSync(join(heddle().home, 'heddle.yaml'), `\ndatabase: ${place.place.url}\n`)
    const settings = ['--name', 'one', '--message', 'look', '--deliver', 'session:main']
    // On a busy machine the time is over before the command looks at it, which refuses it then.
    await untilSo(async () => {
      const at = new Date(Date.now() + 2000).toISOString()
      return (await heddle().run('cron', 'add', ...settings, '--at', at)).code === 0
    })
    const mortal = heddle().startWith({ env: { HEDDLE_CRASH_AT: `${point}#1` } }, 'up')
    expect((await mortal.ended).signal).toBe('SIGKILL')
    const next = heddle().start('up')
    try {
      await next.says('running')
      const list = async <K extends keyof Lists>(key: K, ...args: string[]) =>
        (await heddle().json<Pick<Lists, K>>(...args))[key]
      await untilSo(async () => {
        const messages = await list('messages', 'cron', 'outbox')
        const { runs } = await heddle().json<{ runs: unknown[] }>('ps')
        return messages[0]?.state === 'sent' && runs.length === 0
      })
      expect(await list('fires', 'cron', 'history')).toMatchObject([{ outcome: 'fired', status: 'completed' }])
      expect(await list('messages', 'cron', 'outbox')).toHaveLength(1)
      expect(await list('turns', 'log', 'cron:1')).toHaveLength(1)
      expect(await list('turns', 'log', 'main')).toHaveLength(1)
      const { runs } = await heddle().json<{ runs: { via: string }[] }>('ps', '--all')
      expect(runs.filter(({ via }) => via === 'cron')).toHaveLength(2)
    } finally {
      next.stop('SIGTERM')
      await next.ended
    }
  })
})
