import type { TurnDraft } from '../domain/draft.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import { type Source, sources } from '../domain/message.ts'
import { type Register, rareGroup } from './cli.ts'

export const registerAppend: Register = (program, run) => {
  program
    .command('append')
    .helpGroup(rareGroup)
    .description('add a turn by hand: what was asked and what was answered')
    .option('-s, --session <label>', 'the session to add to; a new label starts one', 'main')
    .option('--user <text...>', 'an input; give several to group them into one turn')
    .requiredOption('--assistant <text>', 'the answer')
    .option('--parent <turn>', 'start a new session from this turn, or insist that the head is here')
    .option('--source <source>', `who brought the input about: ${sources.join(', ')}`, 'human')
    .option('--persona <id>', 'the persona of a session that this starts')
    .option('--model <name>', 'the model that answered')
    .option('--system-prompt <text>', 'the prompt it ran under')
    .option('--compact-to <depth>', 'make it a compaction: the answer stands for the path up to this depth')
    .addHelpText('after', '\nExample: heddle append --user "which port?" --assistant "8080"')
    .action(
      run(async (here, _args, options) => {
        const app = await here.app()
        const appended = await app.append(here.folder, {
          session: String(options['session']),
          draft: draftFrom(options),
          ...(options['parent'] !== undefined && { parent: String(options['parent']) }),
          ...(options['persona'] !== undefined && { persona: String(options['persona']) }),
        })
        return {
          json: { ok: true, ...appended },
          text: `turn:${tail(appended.turnId)} is turn ${appended.depth} of ${appended.session}    heddle log ${appended.session}`,
        }
      }),
    )
}

function draftFrom(options: Record<string, unknown>): TurnDraft {
  const source = sources.find((known) => known === options['source'])
  if (!source) throw new Misuse(`"${options['source']}" is not a source`, `use one of ${sources.join(', ')}`)
  return {
    query: inputs(options['user'], source),
    response: { content: String(options['assistant']) },
    ...(options['model'] !== undefined && {
      model: { requested: String(options['model']), actual: String(options['model']) },
    }),
    ...(options['systemPrompt'] !== undefined && { systemPrompt: String(options['systemPrompt']) }),
    ...(options['compactTo'] !== undefined && { compactsTo: depthFrom(options['compactTo']) }),
  }
}

function inputs(texts: unknown, source: Source): TurnDraft['query'] {
  return ((texts as string[] | undefined) ?? []).map((content) => ({ content, source }))
}

function depthFrom(value: unknown): number {
  const depth = Number(value)
  if (!Number.isInteger(depth) || depth < 1) throw new Misuse(`"${value}" is not a depth`, 'give a whole number from 1')
  return depth
}
