import type { TurnLine } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Here, Register } from './cli.ts'
import { drawGraph } from './graph.ts'
import { ago, cut, paint, printable, width } from './screen.ts'

const screenTurns = 20

export const registerLog: Register = (program, run) => {
  program
    .command('log [session-or-turn]')
    .helpGroup('REWIND')
    .description('the turns that lead to a session’s head, or to any turn')
    .option('-a, --all', 'every turn there is')
    .option('--graph', 'draw the branches')
    .option('--tips', 'only turns that nobody has continued, with or without a session')
    .option('--context', 'only what a model would be given next: from the last compaction on')
    .option('--limit <n>', `at most the last n turns; 0 for all (default: all in JSON, ${screenTurns} on screen)`)
    .addHelpText('after', '\nExamples: heddle log main    heddle log turn:4c1e07    heddle log --all --graph')
    .action(
      run(async (here, [of], options) => {
        const [all, context, tips] = [options['all'] === true, options['context'] === true, options['tips'] === true]
        const limit = limitFrom(options['limit'], here.json || all ? 0 : screenTurns)
        const turns = await read(here, of, { all, context, tips, limit })
        const graph = all || options['graph'] === true
        return { json: { turns }, text: screen(here, turns, of, { whole: all || context || tips, graph }) }
      }),
    )

  program
    .command('diff <a> <b>')
    .helpGroup('REWIND')
    .description('what two sessions or turns do not share, and where they parted')
    .addHelpText('after', '\nExample: heddle diff main second-try')
    .action(
      run(async (here, [a = '', b = '']) => {
        const app = await here.app()
        const diff = await app.diff(here.folder, a, b)
        const side = async (of: string, ids: string[]) => {
          const lines = ids.length === 0 ? [] : (await app.log(here.folder, { of })).slice(-ids.length)
          return [
            paint(here.screen, 'bold', `only ${printable(of)}: ${ids.length}`),
            ...lines.reverse().map((turn) => line(here, turn, '  ')),
          ]
        }
        const parted = diff.ancestor ? `parted after turn:${tail(diff.ancestor)}` : 'nothing in common'
        return { json: diff, text: [...(await side(a, diff.a)), ...(await side(b, diff.b)), parted].join('\n') }
      }),
    )
}

async function read(
  here: Here,
  of: string | undefined,
  query: { all: boolean; context: boolean; tips: boolean; limit: number },
) {
  const app = await here.app()
  if (query.context) return app.context(here.folder, of ?? 'main')
  if (query.tips) return app.tips()
  if (!query.all && of === undefined) {
    const [newest] = await app.sessions({ folder: here.folder })
    // Nothing was named and nothing is there: an empty log, not an error.
    if (!newest) return []
    const sessions = await app.sessions({ folder: here.folder })
    of = sessions.some(({ label }) => label === 'main') ? 'main' : newest.label
  }
  return app.log(here.folder, { all: query.all, limit: query.limit, ...(of !== undefined && { of }) })
}

function screen(
  here: Here,
  turns: TurnLine[],
  of: string | undefined,
  how: { whole: boolean; graph: boolean },
): string {
  if (turns.length === 0) return `no turns in ${printable(here.folder)} yet    heddle append --user "…" --assistant "…"`
  const lines = how.graph
    ? drawGraph(turns).map(({ lanes, node }) => (node ? line(here, node, `${lanes} `) : lanes))
    : turns.toReversed().map((turn) => line(here, turn, ''))
  const older = (turns[0]?.depth ?? 1) - 1
  const more =
    !how.whole && older > 0 ? [`… ${older} older    heddle log ${of ?? ''} --limit 0`.replace('  --', ' --')] : []
  return [...lines, ...more].join('\n')
}

/** One turn on one line: id, place, age, sessions, and as much of the question as fits. */
function line(here: Here, turn: TurnLine, before: string): string {
  const { screen } = here
  const head = `${before}turn:${tail(turn.id)}`
  const facts = [
    paint(screen, 'dim', String(turn.depth).padStart(4)),
    ago(turn.timestamp, here.clock.now()).padStart(8),
    ...(turn.session ? [paint(screen, 'green', `(${printable(turn.session)})`)] : []),
    ...(turn.type === 'compaction' ? [paint(screen, 'cyan', 'compaction')] : []),
    ...(turn.status === 'completed' ? [] : [paint(screen, 'red', turn.status)]),
  ].join('  ')
  const start = `${paint(screen, 'yellow', head)}${facts}  `
  return cut(start + printable(turn.preview), Math.max(screen.columns, width(start) + 10))
}

function limitFrom(value: unknown, otherwise: number): number {
  if (value === undefined) return otherwise
  const limit = Number(value)
  if (!Number.isInteger(limit) || limit < 0)
    throw new Misuse(`"${value}" is not a number of turns`, 'give a whole number; 0 means all')
  return limit
}
