import { z } from 'zod'
import type { CommandApp } from '../../api/commands.ts'
import { thinkingLevels } from '../../domain/message.ts'
import { folder, label } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

export const commandRoutes: RoutesOf<CommandApp> = {
  commands: [
    get('commands', {
      path: '/v1/commands',
      summary: 'The chat commands that the caller may use.',
      answer: { key: 'commands' },
      call: (app) => app.commands(),
      fields: () => ({}),
    }),
  ],
  command: [
    post('command', {
      path: '/v1/commands',
      summary: 'Carries out a chat command, such as /status; it reaches no model and no inbox.',
      input: z.strictObject({
        folder,
        line: z.string().max(100_000),
        session: label.default('main'),
        model: label.exactOptional(),
        thinking: z.enum(thinkingLevels).exactOptional(),
      }),
      call: (app, { folder, id: _, ...input }) => app.command(folder, input),
      fields: (folder, input) => ({ folder, ...input }),
    }),
  ],
}
