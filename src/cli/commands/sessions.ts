import type { SessionView } from '../../api/views/session.ts'
import { tail } from '../../domain/id.ts'
import { isAgentSession } from '../../domain/session.ts'
import type { CommandContext, Register } from '../command.ts'
import { ago, paint, printable, table } from '../terminal/screen.ts'

export const registerSessions: Register = (program, run) => {
  const sessions = program
    .command('sessions')
    .alias('session')
    .helpGroup('REWIND')
    .description('list the sessions of this folder, most recent first')
    .option('-a, --all', 'include other folders, subagents and archived sessions')
    .action(run((here, _args, options) => list(here, options['all'] === true)))
  sessions
    .command('list', { hidden: true })
    .alias('ls')
    .option('-a, --all')
    .action(run((here, _args, options) => list(here, options['all'] === true || sessions.opts()['all'] === true)))
  sessions
    .command('rename <session> <label>')
    .description('give a session another label; its turns stay where they are')
    .action(
      run(async (here, [name = '', label = '']) =>
        changed(await (await here.app()).renameSession(here.folder, name, label), 'renamed'),
      ),
    )
  sessions
    .command('archive <session>')
    .description('hide a session from the list; nothing is deleted')
    .action(
      run(async (here, [name = '']) =>
        changed(await (await here.app()).archiveSession(here.folder, name, true), 'archived'),
      ),
    )
  sessions
    .command('restore <session>')
    .description('put an archived session back on the list')
    .action(
      run(async (here, [name = '']) =>
        changed(await (await here.app()).archiveSession(here.folder, name, false), 'restored'),
      ),
    )

  program
    .command('fork <turn>')
    .helpGroup('REWIND')
    .description('start a new session from any turn; the original session is unchanged')
    .option('--as <label>', 'label of the new session (default: fork-…)')
    .option('--persona <id>', 'the persona of the new session')
    .addHelpText('after', '\nExample: heddle fork turn:4c1e07 --as second-try')
    .action(
      run(async (here, [turn = ''], options) => {
        const app = await here.app()
        const forked = await app.fork(here.folder, {
          turn,
          ...(options['as'] !== undefined && { label: String(options['as']) }),
          ...(options['persona'] !== undefined && { persona: String(options['persona']) }),
        })
        return {
          json: { ok: true, ...forked },
          text: `session ${forked.session} starts at turn:${tail(forked.headTurnId)}    heddle log ${forked.session}`,
        }
      }),
    )
}

async function list(here: CommandContext, all: boolean) {
  const app = await here.app()
  const found = await app.sessions(all ? {} : { folder: here.folder })
  const sessions = all ? found : found.filter(isTalk)
  return { json: { sessions }, text: sessions.length > 0 ? listing(here, sessions, all) : await nothing(here, all) }
}

/** Whether it is a conversation of the user: not archived, and not an agent's own session. */
export function isTalk({ label, archived }: Pick<SessionView, 'label' | 'archived'>): boolean {
  return !archived && !isAgentSession(label)
}

function listing(here: CommandContext, sessions: SessionView[], all: boolean): string {
  const rows = sessions.map((session) => [
    paint(here.screen, 'bold', printable(session.label)),
    session.headTurnId ? `turn:${tail(session.headTurnId)}` : '–',
    `${session.depth} ${session.depth === 1 ? 'turn' : 'turns'}`,
    ago(session.updatedAt, here.clock.now()),
    [session.persona ?? '', session.archived ? 'archived' : '', all ? printable(session.folder) : '']
      .filter(Boolean)
      .join('  '),
  ])
  return table(here.screen, rows, 0)
}

async function nothing(here: CommandContext, all: boolean): Promise<string> {
  const others = all ? 0 : (await (await here.app()).sessions()).length
  return [
    `no sessions in ${printable(here.folder)} yet    heddle ask "…"`,
    ...(others > 0 ? [`${others} in other folders or archived    heddle sessions --all`] : []),
  ].join('\n')
}

function changed(session: SessionView, what: string) {
  return { json: { ok: true, ...session }, text: `${what} ${session.label}    heddle sessions` }
}
