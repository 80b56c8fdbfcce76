import { type ServedModel, servedModels } from '../app-models.ts'
import { HeddleError } from '../domain/errors.ts'
import type { Here } from './cli.ts'
import { askLine, canAsk } from './prompt.ts'
import { printable } from './screen.ts'

/** The lines that a server's own list of models gives. */
export interface FoundServer {
  model: string
  contextWindow?: number
  price?: { input: number; output: number }
}

const mostListed = 20

/** Finds out which model of a compatible server is meant, and what the server says of it. */
export async function findServer(
  here: Here,
  baseURL: string,
  key: string | undefined,
  wanted: string | undefined,
): Promise<FoundServer> {
  const served = await servedModels(baseURL, key, here.clock)
  const chosen =
    wanted === undefined
      ? await choose(here, served, baseURL)
      : (served.find(({ id }) => id === wanted) ?? { id: wanted })
  return {
    model: chosen.id,
    ...(chosen.window !== undefined && { contextWindow: chosen.window }),
    ...(chosen.price && { price: { input: chosen.price.input, output: chosen.price.output } }),
  }
}

async function choose(here: Here, served: ServedModel[], baseURL: string): Promise<ServedModel> {
  const [only] = served
  if (!only)
    throw new HeddleError(
      'server_silent',
      `${printable(baseURL)} tells no models.`,
      'check the address, which usually ends with /v1, or name the model with --model',
    )
  if (served.length === 1) return only
  const names = served.map(({ id }) => printable(id))
  const ambiguous = new HeddleError(
    'model_unclear',
    `${printable(baseURL)} has ${served.length} models.`,
    `name one with --model: ${names.slice(0, mostListed).join(', ')}${names.length > mostListed ? ', …' : ''}`,
  )
  if (!canAsk(here) || here.json) throw ambiguous
  for (const [at, name] of names.slice(0, mostListed).entries()) here.tell(`  ${at + 1}  ${name}`)
  const answer = (await askLine(here, 'which one, by number or name? ')).trim()
  const found = served[Number(answer) - 1] ?? served.find(({ id }) => id === answer)
  if (!found) throw ambiguous
  return found
}
