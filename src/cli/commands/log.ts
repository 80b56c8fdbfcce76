import { Option } from 'commander'
import type { TurnLine } from '../../api/views/turn.ts'
import { UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import type { CommandContext, Register } from '../command.ts'
import { pageOptions } from '../input/pages.ts'
import { drawGraph } from '../terminal/graph.ts'
import { formatAge, paint, printable, truncateToWidth, width } from '../terminal/screen.ts'

const screenTurns = 20

export const registerLog: Register = (program, run) => {
  program
    .command('log [session-or-turn]')
    .helpGroup('REWIND')
    .description('history of a session, or up to any turn')
    .option('-a, --all', 'all turns')
    .option('--graph', 'draw the branches')
    .addOption(new Option('--tips', 'only the tips of all branches').conflicts('all'))
    .addOption(
      new Option('--context', 'only the turns in the model’s context (since the last compaction)').conflicts([
        'all',
        'tips',
      ]),
    )
    .option('--limit <n>', `at most the last n turns; 0 for all (default: all in JSON, ${screenTurns} on screen)`)
    .addHelpText('after', '\nExamples: heddle log main    heddle log turn:4c1e07    heddle log --all --graph')
    .action(
      run(async (here, [of], options) => {
        const [all, context, tips] = [options['all'] === true, options['context'] === true, options['tips'] === true]
        if (of !== undefined && (all || tips))
          throw new UsageError(
            `--${all ? 'all' : 'tips'} looks at every session, not at ${printable(of)} alone`,
            `leave one of them out`,
          )
        const limit = pageOptions(options, here.json || all ? 0 : screenTurns, 'turns').limit
        const turns = await read(here, of, { all, context, tips, limit })
        const graph = all || options['graph'] === true
        return { json: { turns }, text: screen(here, turns, of, { whole: all || context || tips, graph }) }
      }),
    )

  program
    .command('diff <a> <b>')
    .helpGroup('REWIND')
    .description('compare two sessions or turns: where they diverge, and the turns after that')
    .addHelpText('after', '\nExample: heddle diff main second-try')
    .action(
      run(async (here, [a = '', b = '']) => {
        const client = await here.client()
        const diff = await client.diff(here.folder, a, b)
        const side = async (of: string, ids: string[]) => {
          const lines = ids.length === 0 ? [] : (await client.log(here.folder, { of })).slice(-ids.length)
          return [
            paint(here.screen, 'bold', `only ${printable(of)}: ${ids.length}`),
            ...lines.reverse().map((turn) => line(here, turn, '  ')),
          ]
        }
        const parted = diff.ancestor ? `split after turn:${shortId(diff.ancestor)}` : 'nothing in common'
        return { json: diff, text: [...(await side(a, diff.a)), ...(await side(b, diff.b)), parted].join('\n') }
      }),
    )
}

async function read(
  here: CommandContext,
  of: string | undefined,
  query: { all: boolean; context: boolean; tips: boolean; limit: number },
) {
  const client = await here.client()
  if (query.context) return lastOf(await client.context(here.folder, of ?? 'main'), query.limit)
  if (query.tips) return lastOf(await client.tips(), query.limit)
  if (query.all) return lastOf(await client.log(here.folder, { all: true }), query.limit)
  if (of === undefined) {
    const { folder } = here
    const [newest] = [
      ...(await client.sessions({ folder, label: 'main' })).rows,
      ...(await client.sessions({ folder, limit: 1 })).rows,
    ]
    // A folder without sessions has an empty log; that is no error.
    if (!newest) return []
    of = newest.label
  }
  return client.log(here.folder, { limit: query.limit, of })
}

function lastOf(turns: TurnLine[], limit: number): TurnLine[] {
  return limit === 0 ? turns : turns.slice(-limit)
}

function screen(
  here: CommandContext,
  turns: TurnLine[],
  of: string | undefined,
  how: { whole: boolean; graph: boolean },
): string {
  if (turns.length === 0) return `no turns in ${printable(here.folder)} yet    heddle ask "…"`
  const lines = how.graph
    ? drawGraph(turns).map(({ lanes, node }) => (node ? line(here, node, `${lanes} `) : lanes))
    : turns.toReversed().map((turn) => line(here, turn, ''))
  const older = (turns[0]?.depth ?? 1) - 1
  const more =
    !how.whole && older > 0 ? [`… ${older} older    heddle log ${of ?? ''} --limit 0`.replace('  --', ' --')] : []
  return [...lines, ...more].join('\n')
}

/** One turn on one line: id, depth, age, sessions, and as much of the question as fits. */
function line(here: CommandContext, turn: TurnLine, before: string): string {
  const { screen } = here
  const head = `${before}turn:${shortId(turn.id)}`
  const facts = [
    paint(screen, 'dim', String(turn.depth).padStart(4)),
    formatAge(turn.timestamp, here.clock.now()).padStart(8),
    ...(turn.session ? [paint(screen, 'green', `(${printable(turn.session)})`)] : []),
    ...(turn.type === 'compaction' ? [paint(screen, 'cyan', 'compaction')] : []),
    ...(turn.status === 'completed' ? [] : [paint(screen, 'red', turn.status)]),
  ].join('  ')
  const start = `${paint(screen, 'yellow', head)}${facts}  `
  return truncateToWidth(start + printable(turn.preview), Math.max(screen.columns, width(start) + 10))
}
