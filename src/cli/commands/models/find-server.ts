import { type ServedModel, type ServedModels, servedModels } from '../../../app/models.ts'
import { HeddleError } from '../../../domain/errors.ts'
import type { CommandContext } from '../../command.ts'
import { askLine, canAsk } from '../../terminal/prompt.ts'
import { printable } from '../../terminal/screen.ts'

/** Settings taken from a server's own list of models. */
export interface FoundServer {
  model: string
  contextWindow?: number
  price?: { input: number; output: number }
}

const maxListed = 20

/** Chooses a model of a compatible server, with what the server reports about it. */
export async function findServer(
  here: CommandContext,
  baseURL: string,
  key: string | undefined,
  wanted: string | undefined,
): Promise<FoundServer> {
  const served = await servedModels(baseURL, key, here.clock)
  const chosen =
    wanted === undefined
      ? await choose(here, served, baseURL)
      : (served.models.find(({ id }) => id === wanted) ?? { id: wanted })
  return {
    model: chosen.id,
    ...(chosen.window !== undefined && { contextWindow: chosen.window }),
    ...(chosen.price && { price: { input: chosen.price.input, output: chosen.price.output } }),
  }
}

async function choose(
  here: CommandContext,
  { models: served, why }: ServedModels,
  baseURL: string,
): Promise<ServedModel> {
  const [only] = served
  if (!only)
    throw new HeddleError(
      'server_silent',
      `no model list at ${printable(baseURL)} (${why})`,
      'check that the server runs and the address, which usually ends with /v1, or name the model with --model',
    )
  if (served.length === 1) return only
  const names = served.map(({ id }) => printable(id))
  const ambiguous = new HeddleError(
    'model_unclear',
    `${printable(baseURL)} has ${served.length} models.`,
    `name one with --model: ${names.slice(0, maxListed).join(', ')}${names.length > maxListed ? ', …' : ''}`,
  )
  if (!canAsk(here) || here.json) throw ambiguous
  for (const [at, name] of names.slice(0, maxListed).entries()) here.tell(`  ${at + 1}  ${name}`)
  const answer = (await askLine(here, 'which one, by number or name? ')).trim()
  const found = served[Number(answer) - 1] ?? served.find(({ id }) => id === answer)
  if (!found) throw ambiguous
  return found
}
