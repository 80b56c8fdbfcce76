import { type Command, Option } from 'commander'
import type { PinView } from '../../../api/profiles.ts'
import { UsageError } from '../../../domain/errors.ts'
import { type PinScope, pinScopes } from '../../../domain/profiles/pin.ts'
import type { ActionRunner } from '../../command.ts'
import { paint, printable, type Screen, truncateToWidth, wrapText } from '../../terminal/screen.ts'
import { asAgentId } from './registry.ts'

const mainSession = 'main'

/** Commands about pins: which profile is the default for a session, for you, in a folder or everywhere. */
export function addPinCommands(agents: Command, run: ActionRunner): void {
  withScopes(
    agents
      .command('pin <agent>')
      .description('use an agent’s profile by default; @AGENT, or the id of a profile')
      .addHelpText(
        'after',
        '\nExamples: heddle agents pin @writer    heddle agents pin @writer --user\nWithout a scope it is pinned for the session main of this folder.',
      ),
  ).action(
    run(async (here, [agent = ''], options) => {
      const { scope, session } = scopeFrom(options)
      const target = agent.includes(':') ? { profileId: agent } : { agentId: asAgentId(agent) }
      const pin = await (await here.client()).setPin(here.folder, { scope, ...withSession(scope, session), ...target })
      const what = pin.agentId ? `${pin.agentId} (${pin.profileId})` : pin.profileId
      return {
        json: { ok: true, ...pin },
        text: `${printable(what)} is pinned for ${placeWords(scope, session)}    heddle agents pins`,
      }
    }),
  )
  withScopes(agents.command('unpin').description('remove a pin; without a scope that of the session main')).action(
    run(async (here, _args, options) => {
      const { scope, session } = scopeFrom(options)
      const { removed } = await (await here.client()).removePin(here.folder, { scope, ...withSession(scope, session) })
      const place = placeWords(scope, session)
      return {
        json: { ok: true, removed },
        text: removed ? `nothing is pinned for ${place} any more` : `nothing was pinned for ${place}`,
      }
    }),
  )
  agents
    .command('pins')
    .description('the pins here, which one is used, and why')
    .option('-s, --session <label>', `in this session (default: ${mainSession})`)
    .action(
      run(async (here, _args, options) => {
        const session = String(options['session'] ?? mainSession)
        const { pins, why } = await (await here.client()).pins(here.folder, session)
        const none = 'nothing is pinned here    heddle agents pin @writer'
        const lines = [...pins.flatMap((pin) => pinLines(here.screen, pin)), ...(pins[0]?.effective ? [] : [why])]
        return { json: { pins, why }, text: pins.length === 0 ? none : lines.join('\n') }
      }),
    )
}

const whyIndent = ' '.repeat(19)

function pinLines(screen: Screen, { scope, agentId, profileId, effective, why }: PinView): string[] {
  const what = agentId === undefined ? profileId : `${agentId} (${profileId})`
  const line = `${scope.padEnd(9)}  ${effective ? 'counts' : '      '}  ${printable(what)}`
  return [
    truncateToWidth(line, screen.columns),
    ...wrapText(whyIndent + paint(screen, 'dim', printable(why)), screen.columns, { words: true, hang: whyIndent }),
  ]
}

function withScopes(command: Command): Command {
  return command
    .addOption(new Option('-s, --session [label]', `for a session of this folder (default: ${mainSession})`))
    .option('--user', 'for you, in every folder')
    .option('--workspace', 'for everyone in this folder')
    .option('--global', 'for everyone, everywhere')
}

function scopeFrom(options: Record<string, unknown>): { scope: PinScope; session: string } {
  const [scope = 'session', another] = pinScopes.filter((each) => options[each] !== undefined)
  if (another) throw new UsageError(`--${scope} and --${another} are two scopes`, 'name one of them')
  const { session } = options
  return { scope, session: typeof session === 'string' ? session : mainSession }
}

function withSession(scope: PinScope, session: string): { session?: string } {
  return scope === 'session' ? { session } : {}
}

function placeWords(scope: PinScope, session: string): string {
  switch (scope) {
    case 'session':
      return `the session ${printable(session)}`
    case 'user':
      return 'you'
    case 'workspace':
      return 'this folder'
    case 'global':
      return 'everything'
  }
}
