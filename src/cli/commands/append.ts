import type { TurnDraft } from '../../domain/draft.ts'
import { UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { type Source, sources } from '../../domain/message.ts'
import { type Register, rareGroup } from '../command.ts'
import { wholeNumber } from '../input/counts.ts'

export const registerAppend: Register = (program, run) => {
  program
    .command('append')
    .helpGroup(rareGroup)
    .description('add a turn by hand: what was asked and what was answered')
    .option('-s, --session <session>', 'a label, turn:ID or persona:ID; a new label starts one', 'main')
    .option('--user <text...>', 'a message; several become one turn')
    .requiredOption('--assistant <text>', 'the answer')
    .option('--parent <turn>', 'start a new session from this turn, or require that it is the head')
    .option('--source <source>', 'where the input came from', 'human')
    .option('--persona <id>', 'the persona of a new session')
    .option('--model <name>', 'the model that answered')
    .option('--system-prompt <text>', 'the system prompt it used')
    .option('--compact-to <depth>', 'make it a compaction: the answer replaces the path up to this depth')
    .addHelpText('after', '\nExample: heddle append --user "which port?" --assistant "8080"')
    .action(
      run(async (here, _args, options) => {
        const client = await here.client()
        const appended = await client.append(here.folder, {
          session: String(options['session']),
          draft: draftFrom(options),
          ...(options['parent'] !== undefined && { parent: String(options['parent']) }),
          ...(options['persona'] !== undefined && { persona: String(options['persona']) }),
        })
        return {
          json: { ok: true, ...appended },
          text: `turn:${shortId(appended.turnId)} is turn ${appended.depth} of ${appended.session}    heddle log ${appended.session}`,
        }
      }),
    )
}

function draftFrom(options: Record<string, unknown>): TurnDraft {
  const said = [options['assistant'], ...((options['user'] as string[] | undefined) ?? [])]
  if (said.every((text) => String(text).trim() === ''))
    throw new UsageError('the turn would be empty', 'give the question with --user or the answer with --assistant')
  const source = sources.find((known) => known === options['source'])
  if (!source) throw new UsageError(`"${options['source']}" is not a source`, `use one of ${sources.join(', ')}`)
  return {
    query: inputs(options['user'], source),
    response: { content: String(options['assistant']) },
    ...(options['model'] !== undefined && {
      model: { requested: String(options['model']), actual: String(options['model']) },
    }),
    ...(options['systemPrompt'] !== undefined && { systemPrompt: String(options['systemPrompt']) }),
    ...(options['compactTo'] !== undefined && { compactsTo: wholeNumber(options['compactTo'], { what: 'depth' }) }),
  }
}

function inputs(texts: unknown, source: Source): TurnDraft['query'] {
  return ((texts as string[] | undefined) ?? []).map((content) => ({ content, source }))
}
