import { loadConfig } from '../config/config.ts'
import { rehearsal } from '../config/schema.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import { agentNamed } from './asked.ts'
import { labelToTalkIn } from './chat-sessions.ts'
import { Chatting } from './chatting.ts'
import type { Answer, Here, Register } from './cli.ts'
import { printable } from './screen.ts'
import { status } from './status.ts'
import { unknownCommand } from './unknown-command.ts'

export const registerChat: Register = (program, run) => {
  // Bare `heddle`: never a help text, but where you are and what you can do next.
  program.allowExcessArguments().action(
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
    .description('talk in a session of this folder; so does bare heddle')
    .option('-s, --session <label>', 'the session to talk in; a new label starts one', 'main')
    .option('-m, --model <name>', 'one of the models of heddle.yaml')
    .addHelpText('after', '\nPiped, each line is a message, answered before the next. /help in it tells more.')
    .action(
      run(async (here, [agent], options) => {
        if (here.json) throw new Misuse('a chat is no JSON document', 'use: heddle ask "…" --json')
        const model = options['model'] === undefined ? {} : { model: String(options['model']) }
        const named = agent === undefined ? {} : { agent: await agentNamed(here, agent) }
        return chat(here, { session: String(options['session']), ...model, ...named })
      }),
    )
}

async function chat(
  here: Here,
  { session, model, agent }: { session: string; model?: string; agent?: string },
): Promise<Answer> {
  const app = await here.app()
  const config = await loadConfig(here.configFile, here.env, { userHome: here.userHome })
  const known = [...Object.keys(config.models), rehearsal]
  const knowModel = (name: string) => {
    if (!known.includes(name)) throw noModel(name, known)
  }
  if (model !== undefined) knowModel(model)
  const chatting = new Chatting(here, app, await here.daemon(), {
    session: await labelToTalkIn(app, here.folder, session),
    model,
    agent,
    isCoordinated: (agent ?? config.agent.default).replace(/^@/, '') === 'coordinator',
    isAttended: here.io.stdin.isTTY === true,
    knowModel,
    models: Object.keys(config.models),
    usualModel: config.agent.model ?? rehearsal,
    perRequestUsd: config.budgets.perRequest.usd,
    notifyCommand: config.notify.command,
  })
  return { json: null, text: '', code: await chatting.talk() }
}

function noModel(name: string, known: string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${printable(name)}"`,
    close
      ? `did you mean ${close}?`
      : known.length > 0
        ? `there are ${known.join(', ')}`
        : 'add one: heddle config edit',
  )
}
