import type { UndoReport } from '../api/views/result.ts'
import type { WhyLink, WhyView } from '../api/views/why.ts'
import { shortId } from '../domain/id.ts'
import { minTurnsToCompact } from '../domain/run-options.ts'
import { countNoun } from '../domain/text/count-noun.ts'
import { defineCommand } from './command.ts'
import { factsBlock, tableOutcome, textOutcome } from './outcome.ts'
import { blocksFor } from './show-blocks.ts'

const maxTurns = 20

/** Commands about turns, and where things come from. */
export const turnCommands = [
  defineCommand({
    name: 'log',
    usage: '/log [session or turn]',
    summary: `the last ${maxTurns} turns, oldest first`,
    example: '/log main',
    action: 'turn.read',
    parse: (words) => words.optionalWord(),
    async run({ app, folder, session }, of) {
      const isNew = of === undefined && (await app.sessions({ folder, label: session })).rows.length === 0
      const turns = isNew ? [] : await app.log(folder, { of: of ?? session, limit: maxTurns })
      return tableOutcome(turns, {
        columns: {
          turn: ({ id }) => `turn:${shortId(id)}`,
          status: ({ status, type }) => (type === 'compaction' ? type : status),
          question: ({ preview }) => preview,
          at: ({ timestamp }) => timestamp,
        },
        wide: 'question',
        empty: 'no turns yet: one follows from your first message',
        next: `/show turn:${shortId(turns.at(-1)?.id ?? '')}`,
      })
    },
  }),
  defineCommand({
    name: 'show',
    usage: '/show ref',
    summary: 'a turn, run, plan, task, result, memory, approval or session',
    example: '/show turn:4c1e07',
    action: 'turn.read',
    parse: (words) => words.word('reference'),
    run: async ({ app, folder }, reference) => ({ blocks: blocksFor(await app.show(folder, reference)) }),
  }),
  defineCommand({
    name: 'why',
    usage: '/why ref',
    summary: 'trace a line, file, run, task or result back to your message',
    example: '/why REPORT.md:12',
    action: 'turn.explain',
    parse: (words) => words.word('reference'),
    run: async ({ app, folder }, reference) => whyOutcome(await app.why(folder, reference)),
  }),
  defineCommand({
    name: 'diff',
    usage: '/diff a b',
    summary: 'the turns that two sessions or turns do not share',
    example: '/diff main second-try',
    action: 'turn.read',
    parse: (words) => ({ a: words.word('first session or turn'), b: words.word('second session or turn') }),
    async run({ app, folder }, { a, b }) {
      const found = await app.diff(folder, a, b)
      const turns = (ids: string[]) => ids.map((id) => `turn:${shortId(id)}`).join(' ') || 'none'
      const shared = found.ancestor === null ? 'nothing' : `up to turn:${shortId(found.ancestor)}`
      return { blocks: [factsBlock({ shared, [`only ${a}`]: turns(found.a), [`only ${b}`]: turns(found.b) })] }
    },
  }),
  defineCommand({
    name: 'compact',
    usage: '/compact',
    summary: 'summarise the turns so far, before your next message is answered',
    example: '/compact',
    action: 'turn.read',
    async run({ app, folder, session }) {
      const isNew = (await app.sessions({ folder, label: session })).rows.length === 0
      const turns = isNew ? [] : await app.context(folder, session)
      const covered = turns.find(({ type }) => type === 'compaction')?.depth ?? 0
      const fresh = turns.filter(({ depth }) => depth > covered)
      if (fresh.length < minTurnsToCompact) return textOutcome('there is nothing to summarise yet', { next: '/log' })
      const tokens = turns.reduce((sum, each) => sum + each.tokens, 0)
      return textOutcome(
        `your next message begins with a summary of ${countNoun(turns.length, 'turn')}, ${tokens} tokens`,
        {
          voice: { compact: true },
        },
      )
    },
  }),
  defineCommand({
    name: 'undo',
    usage: '/undo run [--dry-run]',
    summary: 'restore the files that a run changed',
    example: '/undo run:7k2f0a --dry-run',
    action: 'run.undo',
    parse: (words) => ({ isDry: words.flags(['--dry-run']).size > 0, run: words.word('run') }),
    async run({ app, folder }, { run, isDry }) {
      const report = await app.undo(run, { dryRun: isDry })
      return textOutcome(
        undoWords(report, folder, isDry),
        isDry && report.restored.length > 0 ? { next: `/undo ${run}` } : {},
      )
    },
  }),
]

function undoWords({ restored, refused, cannotUndo }: UndoReport, folder: string, isDry: boolean): string {
  const short = (path: string) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path)
  return [
    ...restored.map((path) => `${isDry ? 'would restore' : 'restored'}  ${short(path)}`),
    ...refused.map(({ path, why }) => `not changed  ${short(path)}: ${why}`),
    ...(restored.length + refused.length === 0 ? ['nothing to undo: no file changed, or already undone'] : []),
    ...(cannotUndo.length === 0 ? [] : [`${cannotUndo.length} calls cannot be undone: heddle undo shows them`]),
  ].join('\n')
}

function whyOutcome({ chain, notes }: WhyView) {
  const rows = [
    ...chain.map((link) => ({ how: link.how, what: referenceOf(link), title: link.title, at: link.at })),
    ...notes.map(({ topic, text, at, ref = '' }) => ({ how: topic, what: ref, title: text, at })),
  ]
  return tableOutcome(rows, {
    columns: {
      how: ({ how }) => how,
      what: ({ what }) => what,
      title: ({ title }) => title,
      at: ({ at }) => at,
    },
    wide: 'title',
    empty: 'no origin is recorded',
  })
}

function referenceOf({ kind, id, agent }: WhyLink): string {
  const name = kind === 'run' || kind === 'turn' ? shortId(id) : id
  return `${kind}:${name}${agent === undefined ? '' : ` @${agent}`}`
}
