import { expect, test, vi } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { why } from '../../src/engine/why/why.ts'
import { isLong } from '../setup/long.ts'
import { seededChance } from './simulator-schedule.ts'
import { newHistory } from './why-histories/history.ts'
import { hand } from './why-histories/truth.ts'

vi.setConfig({ testTimeout: 1_800_000 })

const enoughLines = isLong ? 10_000 : 200
const actsEach = 30
const firstSeed = Number(process.env['SEED'] ?? 1)

test('in random histories of files no line has a wrong author and no run is denied its work', async () => {
  const tally = { lines: 0, right: 0, unknown: 0, wrong: [] as string[], denied: [] as string[] }
  for (let seed = firstSeed; tally.lines < enoughLines; seed++) {
    const history = await newHistory('sqlite', seededChance(seed))
    for (let at = 0; at < actsEach; at++) await history.act()
    const { hands, files, acts } = history
    const context = { store: hands.engine.store, protect: nothingProtected, budget: { usd: 5, tokens: 1000 } }
    for (const [path, { lines }] of files) {
      for (const [at, { text, authors, carriers }] of lines.entries()) {
        const view = await why(context, hands.folder, `file:${path}:${at + 1}`)
        expect(view.file?.text).toBe(text)
        const author = view.file?.author
        const answer = author?.by === 'run' ? author.runId : author?.by === 'unknown' ? 'unknown' : hand
        const said = answer === hand ? view.notes[0]?.text : answer
        tally.lines++
        const where = `SEED=${seed} ${path}:${at + 1} "${text}": ${said}, not ${[...authors].join(' or ')}`
        if (answer === 'unknown') tally.unknown++
        else if (authors.has(answer) || carriers.has(answer)) tally.right++
        else (answer === hand ? tally.denied : tally.wrong).push(where)
      }
    }
    if (process.env['SEED']) console.log(acts.join('\n'))
    expect(hands.troubles).toEqual([])
    await history.remove()
    if (process.env['SEED']) break
  }
  console.log(
    { ...tally, wrong: tally.wrong.length, denied: tally.denied.length },
    tally.wrong.slice(0, 8),
    tally.denied.slice(0, 8),
  )
  expect({ wrong: tally.wrong, denied: tally.denied }).toEqual({ wrong: [], denied: [] })
  expect(tally.unknown / tally.lines).toBeLessThan(0.05)
})
