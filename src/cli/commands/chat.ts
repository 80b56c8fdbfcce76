import { loadConfig } from '../../config/config.ts'
import { rehearsal } from '../../config/schema.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { enterWorkspace } from '../../home/folder.ts'
import { chatLabel } from '../chat/chat-label.ts'
import { ChatSession } from '../chat/chat-session.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { checkAgentName } from '../input/read-prompt.ts'
import { printable } from '../terminal/screen.ts'
import { unknownCommand } from '../unknown-command.ts'
import { status } from './status.ts'

export const registerChat: Register = (program, run) => {
  // Bare `heddle`: never a help text, but where you are and what you can do next.
  program.action(
    run(async (here) => {
      const [unknown] = program.args
      if (unknown !== undefined) throw unknownCommand(unknown, program)
      const isTalk = here.io.stdin.isTTY === true && here.io.stdout.isTTY === true && !here.json
      return isTalk ? chat(here, { session: 'main' }) : status(here)
    }),
  )
  program
    .command('chat [agent]')
    .helpGroup('TALK')
    .description('start or continue a chat in this folder (same as plain `heddle`)')
    .option('-s, --session <session>', 'a label, turn:ID or persona:ID; a new label starts one', 'main')
    .option('-m, --model <name>', 'a model from heddle.yaml')
    .addHelpText('after', '\nPiped, each line is a message, answered before the next. /help lists commands.')
    .action(
      run(async (here, [agent], options) => {
        if (here.json) throw new UsageError('a chat cannot be printed as JSON', 'use: heddle ask "…" --json')
        const model = options['model'] === undefined ? {} : { model: String(options['model']) }
        const choice = agent === undefined ? {} : { agent: await checkAgentName(here, agent) }
        return chat(here, { session: String(options['session']), ...model, ...choice })
      }),
    )
}

async function chat(
  here: CommandContext,
  { session, model, agent }: { session: string; model?: string; agent?: string },
): Promise<CommandResult> {
  const client = await here.client()
  const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome })
  const known = [...Object.keys(config.models), rehearsal]
  if (model !== undefined && !known.includes(model)) throw noModel(model, known)
  const notice = enterWorkspace(here.io.cwd, here.folder, here)
  if (notice !== undefined) here.tell(notice)
  const chat = new ChatSession(here, client, {
    isAlone: (await here.daemon()) === undefined,
    session: await chatLabel(client, here.folder, session),
    model,
    agent,
    isCoordinated: (agent ?? config.agent.default).replace(/^@/, '') === 'coordinator',
    isAttended: here.io.stdin.isTTY === true,
    defaultModel: config.agent.model ?? rehearsal,
    perRequestUsd: config.budgets.perRequest.usd,
    notifyCommand: config.notify.command,
  })
  return { json: null, text: '', code: await chat.run() }
}

function noModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${printable(name)}"`,
    close
      ? `did you mean ${close}?`
      : known.length > 0
        ? `use one of ${known.join(', ')}`
        : 'add one: heddle models add',
  )
}
