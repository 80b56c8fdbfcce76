import { shortId } from '../domain/id.ts'
import { countNoun } from '../domain/text/count-noun.ts'
import { defineCommand } from './command.ts'
import { tableOutcome, textOutcome } from './outcome.ts'

/** Commands about the turn under way and the chat itself. */
export const talkCommands = [
  defineCommand({
    name: 'help',
    usage: '/help [command]',
    summary: 'the commands, or one of them',
    example: '/help fork',
    action: 'command.list',
    aliases: ['?'],
    parse: (words) => words.optionalText()?.replace(/^\//, '').toLowerCase(),
    async run({ app }, topic) {
      const all = await app.commands()
      const asked = all.filter(({ name }) => name === topic || name.startsWith(`${topic} `))
      const shown = topic === undefined ? all.filter(({ name }) => !hasGroup(name, all)) : asked
      const [only] = shown
      if (topic !== undefined && shown.length === 1 && only)
        return textOutcome(`${only.usage}    ${only.summary}`, { next: only.example })
      // The usage of a command is long: beside it, a line would have no room for what it does.
      if (topic !== undefined && shown.length > 1)
        return textOutcome(shown.map(({ usage, summary }) => `${usage}\n  ${summary}`).join('\n'), {
          next: `/help ${shown.at(-1)?.name}    explains one, with an example`,
        })
      return tableOutcome(shown, {
        columns: {
          command: ({ name }) => `/${name}`,
          does: ({ summary }) => summary,
        },
        wide: 'does',
        empty: `there is no command "${topic}" for you    /help lists them`,
        ...(topic === undefined && { next: '/help cron    explains one, with an example' }),
      })
    },
  }),
  defineCommand({
    name: 'steer',
    usage: '/steer message',
    summary: 'pass a message to the running turn, at its next step',
    example: '/steer use port 8443',
    action: 'run.steer',
    takesMessage: true,
    isUrgent: true,
    parse: (words) => words.text('message'),
    run: async (_, content) => ({ blocks: [], say: { kind: 'steer', content } }),
  }),
  defineCommand({
    name: 'stop',
    usage: '/stop',
    summary: 'stop the turn, with everything it started',
    example: '/stop',
    action: 'run.cancel',
    aliases: ['cancel'],
    isUrgent: true,
    async run({ app, folder, session }) {
      const { rows } = await app.runs({ folder, requestsOf: session })
      const roots = [...new Set(rows.map(({ rootRunId }) => rootRunId))]
      if (roots.length === 0) return textOutcome('nothing is running')
      for (const root of roots) await app.cancel(`run:${root}`)
      const names = roots.map((root) => `run:${shortId(root)}`).join(', ')
      return textOutcome(
        `stopping ${names}${rows.length > roots.length ? `, ${countNoun(rows.length, 'run')} in all` : ''}`,
      )
    },
  }),
  defineCommand({
    name: 'quit',
    usage: '/quit',
    summary: 'leave the chat',
    example: '/quit',
    action: 'command.list',
    aliases: ['exit', 'q'],
    run: async () => ({ blocks: [], leave: true }),
  }),
]

/** Whether a command is one of a group, which /help lists by its first word. */
function hasGroup(name: string, all: readonly { name: string }[]): boolean {
  const [first, second] = name.split(' ')
  return second !== undefined && all.some((each) => each.name === first)
}
