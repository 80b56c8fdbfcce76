import { expect, test, vi } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import { why } from '../../src/engine/why/why.ts'
import { firstOf, isLong } from '../setup/long.ts'
import { databases } from '../setup/places.ts'
import { seededChance } from './simulator-schedule.ts'
import { type History, newHistory } from './why-histories/history.ts'
import { hand, plainCopy } from './why-histories/truth.ts'

vi.setConfig({ testTimeout: 3_600_000 })

/** `LINES=3000` plays fewer. */
const enoughLines = isLong ? Number(process.env['LINES'] ?? 10_000) : 1
const actsEach = isLong ? 30 : 18
/** `SEED=6` plays one history again; one that failed is listed step by step. `FROM=6` begins with another seed. `UNKNOWN=1` lists unknown lines. */
const chosen = process.env['SEED']
const first = Number(chosen ?? process.env['FROM'] ?? firstOf(1000))

test('in random histories of files no line has a wrong author and no run is denied its work', async () => {
  const [plain, untraced] = [newTally(), newTally()]
  for (let seed = first; plain.lines + untraced.lines < enoughLines; seed++) {
    const leavesNoTrace = seed % 3 === 0
    const tally = leavesNoTrace ? untraced : plain
    // Every other history is one of PostgreSQL.
    const database = databases[seed % databases.length] ?? 'sqlite'
    const history = await newHistory(database, seededChance(seed), { leavesNoTrace })
    for (let at = 0; at < actsEach; at++) await history.act()
    const met = tally.faults.length
    await judge(history, seed, tally)
    expect(history.hands.troubles).toEqual([])
    const faults = tally.faults.slice(met)
    // At once, and all of them: a long difference is cut where it is printed.
    if (faults.length > 0 || process.env['UNKNOWN'])
      process.stdout.write(`${[...faults, ...history.acts].join('\n')}\n`)
    await history.remove()
    if (chosen) break
  }
  print('why', plain)
  print('why, where hands leave no trace', untraced)
  expect([...plain.faults, ...untraced.faults]).toEqual([])
  // One short history may be all about copies by hand.
  if (isLong && !chosen) expect(plain.unknown / plain.lines).toBeLessThan(0.05)
})

function newTally(): Tally {
  return { lines: 0, unknown: 0, unseen: 0, copied: 0, reasons: new Map(), faults: [] }
}

function print(name: string, { lines, unknown, unseen, copied, reasons }: Tally): void {
  process.stdout.write(
    `${name}: ${lines} lines, ${unknown} unknown; and ${unseen} of commands that nobody can tell apart, ${copied} of plain copies by hand\n`,
  )
  for (const [reason, count] of [...reasons].sort(([, a], [, b]) => b - a))
    process.stdout.write(`  ${count} unknown: ${reason}\n`)
}

interface Tally {
  lines: number
  unknown: number
  /** Lines of commands at the same time that are unknown, as they must be. */
  unseen: number
  /** Lines of files that a hand copied without their times, and that are unknown: the same content may have come from elsewhere. */
  copied: number
  /** Unknown lines by what is told as the reason. */
  reasons: Map<string, number>
  /**
   * Wrong: another run was named than the one that wrote the line. Denied: a run's line was said to be nobody's. Misled: a line that
   * nobody can tell is unknown, and its run is not among those named.
   */
  faults: string[]
}

/** Asks about every line of every file. */
async function judge({ hands, files, unseen }: History, seed: number, tally: Tally): Promise<void> {
  const context = { store: hands.engine.store, protect: nothingProtected, budget: { usd: 5, tokens: 1000 } }
  for (const [path, { lines }] of files)
    for (const [at, { text, authors, carriers }] of lines.entries()) {
      const { file, notes } = await why(context, hands.folder, `file:${path}:${at + 1}`)
      expect(file?.text).toBe(text)
      const { author } = file ?? {}
      const answer = author?.by === 'run' ? author.runId : author?.by === 'unknown' ? 'unknown' : hand
      const told = author?.by === 'unknown' ? [answer, ...author.runIds].join(' ') : answer
      const where = `SEED=${seed} ${path}:${at + 1} "${text}": ${told}, not ${[...authors].join(' or ')}`
      tally.lines++
      if (author?.by === 'unknown') {
        const isUnseen = [...authors].some((each) => unseen.has(each))
        const isCopied = carriers.has(plainCopy)
        if (isUnseen) tally.unseen++
        else if (isCopied) tally.copied++
        else {
          if (process.env['UNKNOWN']) process.stdout.write(`${where} (${notes[0]?.text})\n`)
          tally.unknown++
          const reason = notes[0]?.text.replace(/^.*who wrote line \d+: | \(run:.*/g, '') ?? ''
          tally.reasons.set(reason, (tally.reasons.get(reason) ?? 0) + 1)
        }
        // Where nobody can tell who did it, and it cannot have been a hand, the answer leads to the run, or to one that copied the line
        // from there.
        const isRight = (runId: string) => authors.has(runId) || carriers.has(runId)
        if ((isUnseen || isCopied) && !authors.has(hand) && !author.runIds.some(isRight))
          tally.faults.push(`misled: ${where}`)
      } else if (!authors.has(answer) && !carriers.has(answer))
        tally.faults.push(`${answer === hand ? 'denied' : 'wrong'}: ${where}`)
    }
}
