import { HeddleError } from '../domain/errors.ts'
import { thinkingLevels } from '../domain/message.ts'
import { nearest } from '../domain/text/nearest.ts'
import { defineCommand } from './command.ts'
import { tableOutcome, textOutcome } from './outcome.ts'

/** Commands about the models of this chat. */
export const modelCommands = [
  defineCommand({
    name: 'models',
    usage: '/models',
    summary: 'the models that can answer',
    example: '/models',
    action: 'model.list',
    run: async ({ app, model }) =>
      tableOutcome(await app.models(), {
        columns: {
          '': ({ name, isDefault }) => ((model === undefined ? isDefault : name === model) ? '*' : ''),
          name: ({ name }) => name,
          model: (each) => each.model,
          provider: ({ provider }) => provider,
          window: ({ window }) => window,
          use: ({ isAllowed, isReady }) => (isAllowed ? (isReady ? '' : 'no key') : 'not allowed'),
        },
        wide: 'model',
        empty: 'no models yet    heddle models add',
        next: '/model NAME',
      }),
  }),
  defineCommand({
    name: 'model',
    usage: '/model [name]',
    summary: 'the model that answers your next messages',
    example: '/model local',
    action: 'model.list',
    parse: (words) => words.optionalWord(),
    async run({ app, model }, name) {
      const all = await app.models()
      const known = all.map((each) => each.name)
      if (name !== undefined && !known.includes(name)) throw unknownModel(name, known)
      if (all.some((each) => each.name === name && !each.isAllowed)) throw modelNotAllowed(name)
      const now = name ?? model ?? all.find(({ isDefault }) => isDefault)?.name ?? 'none'
      const others = all
        .filter((each) => each.name !== now && each.isAllowed && each.provider !== 'script')
        .map((each) => `/model ${each.name}`)
      return textOutcome(`${now} answers`, {
        ...(name !== undefined && { voice: { model: name } }),
        ...(others.length > 0 && { next: others.slice(0, 5).join('    ') }),
      })
    },
  }),
  defineCommand({
    name: 'think',
    usage: '/think [level]',
    summary: `${thinkingLevels.slice(0, -1).join(', ')} or ${thinkingLevels.at(-1)}, if the model supports it`,
    example: '/think low',
    action: 'command.list',
    parse: (words) => words.optionalChoice(thinkingLevels, 'thinking level'),
    run: async ({ thinking }, level) =>
      textOutcome(`thinking: ${level ?? thinking ?? 'model default'}`, {
        ...(level !== undefined && { voice: { thinking: level } }),
        next: '/think low',
      }),
  }),
]

function modelNotAllowed(name: string | undefined): HeddleError {
  return new HeddleError('model_not_allowed', `"${name}" is not in models.allow`, '/models lists those that can answer')
}

function unknownModel(name: string, known: readonly string[]): HeddleError {
  const close = nearest(name, known)
  return new HeddleError(
    'model_unknown',
    `there is no model "${name}"`,
    close ? `did you mean ${close}?` : '/models lists them',
  )
}
