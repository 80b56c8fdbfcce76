import { expect, onTestFinished, test } from 'vitest'
import type { Answered, TurnView } from '../../src/domain/app.ts'
import type { WhyView } from '../../src/domain/why.ts'
import { newHeddle } from './heddle.ts'

test.each(['@coordinator', '@general'])(
  'what was decided is asked for in another session and comes with its source; corrected once, it is not met again (%s)',
  async (agent) => {
    const heddle = newHeddle({ agent })
    onTestFinished(() => heddle.remove())
    const ask = async (session: string, words: string) => heddle.json<Answered>('ask', '-s', session, words)
    const kept = await ask('monday', 'remember that the staging server listens on port 8443')
    expect(kept.text).toBe('REHEARSAL: kept as [id:1]: The staging server listens on port 8443\nheddle why memory:1')
    const asked = await ask('friday', 'what was decided about the staging port?')
    expect(asked.text).toContain('[id:1] The staging server listens on port 8443')
    const { remindedOf } = await heddle.json<TurnView>('show', `turn:${asked.turnId}`)
    expect(remindedOf).toMatchObject([{ id: 1, words: expect.arrayContaining(['staging', 'port']) }])
    const { chain } = await heddle.json<WhyView>('why', 'memory:1')
    expect(chain.at(-1)).toMatchObject({ kind: 'turn', id: kept.turnId })
    await heddle.run('memory', 'edit', '1', 'The staging server listens on port 9443')
    for (const session of ['friday', 'later']) {
      const { text } = await ask(session, 'what do we know about the staging port?')
      expect(text).toContain('[id:2] The staging server listens on port 9443')
      expect(text).not.toContain('8443')
    }
    expect((await ask('later', 'what do we know about the harbour?')).text).toContain('nothing is known')
  },
)
