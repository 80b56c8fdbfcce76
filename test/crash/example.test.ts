import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newHeddle, type TestHeddle } from '../cli/heddle.ts'
import { inTurn } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'

const question = "What's the history of XFS? Use a subagent to research it."
const found = [
  'XFS: 2 lines in 1 file.',
  'filesystems.md:3: XFS was developed by Silicon Graphics (SGI) in 1993 for IRIX.',
  'filesystems.md:4: Linux has had XFS since 2001.',
]

/**
 * Between two lines of the example each: asked, called, started, told, researched, announced, presented, removed. The child is
 * claimed in the commit that starts it (`step#2`), and the requester in that of the announcement (`settle#2`), so that there is
 * no second claim to die after.
 */
const places = [
  ...['claim.after_commit#1', 'step.after_commit#2', 'model.before_request#5', 'model.after_reply#5'],
  ...['model.after_reply#1', 'step.before_commit#1', 'step.after_commit#1'],
  ...['model.before_request#2', 'settle.before_commit#1', 'settle.after_commit#1', 'tool.after_run#1'],
  ...['settle.before_commit#2', 'settle.after_commit#2', 'settle.before_commit#3'],
  ...['settle.after_commit#3', 'tidy.before_commit#1', 'tidy.after_commit#1'],
]

interface ShowResult {
  query: { content: string }[]
  response: { content: string }
}

describe('the example of a sub-agent, without a model', () => {
  let heddle: TestHeddle
  beforeEach(async () => {
    heddle = newHeddle()
    await heddle.run('init')
    const notes =
      '# Notes\n\nXFS was developed by Silicon Graphics (SGI) in 1993 for IRIX.\nLinux has had XFS since 2001.\n'
    writeFileSync(join(heddle.folder, 'filesystems.md'), notes)
  })
  afterEach(() => heddle.remove())

  const conversation = async () => {
    const { turns } = await heddle.json<{ turns: { id: string }[] }>('log')
    const shown: ShowResult[] = []
    for (const { id } of turns)
      shown.push(await heddle.json<ShowResult & Record<string, unknown>>('show', `turn:${id}`))
    return shown.map(({ query, response }) => ({
      heard: query.map(({ content }) => content.split('\n')[0]),
      said: response.content.split('\n'),
    }))
  }

  const asWritten = [
    { heard: [question], said: ["REHEARSAL: I've spawned a sub-agent. I'll let you know when it completes."] },
    {
      heard: ['[Subagent: xfs-research] Complete.', expect.stringContaining('all started agents have ended')],
      said: ["REHEARSAL: The research is complete! Here's what the sub-agent found:", ...found],
    },
  ]

  test('tells at once that it started one, and presents what is announced', async () => {
    const asked = await heddle.runWith({ isProcess: true }, 'ask', question)
    expect(asked.out.trimEnd().split('\n')).toEqual(asWritten[1]?.said)
    expect(await conversation()).toEqual(asWritten)
    const { subagents } = await heddle.json<{ subagents: object[] }>('subagent', 'history')
    expect(subagents).toMatchObject([{ label: 'xfs-research', status: 'completed', model: 'rehearsal' }])
  })

  test.each(inTurn(places, 1))('killed at %s, goes on to the same conversation', async (place) => {
    await heddle.run('ask', '--no-wait', question)
    const mortal = heddle.startWith({ env: { HEDDLE_CRASH_AT: place } }, 'up')
    expect((await mortal.ended).signal).toBe('SIGKILL')
    const next = heddle.start('up')
    try {
      await next.says('running')
      await untilSo(async () => {
        const { runs } = await heddle.json<{ runs: unknown[] }>('ps')
        const { results } = await heddle.json<{ results: { processed: boolean }[] }>('results')
        return runs.length === 0 && results.length > 0 && results.every(({ processed }) => processed)
      })
      expect(await conversation()).toEqual(asWritten)
      const { subagents } = await heddle.json<{ subagents: object[] }>('subagent', 'history')
      expect(subagents).toMatchObject([{ label: 'xfs-research', status: 'completed' }])
    } finally {
      next.stop('SIGTERM')
      await next.ended
    }
  })
})
