import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { App, Question } from '../domain/app.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import type { Part } from '../domain/message.ts'
import { nearest } from '../domain/nearest.ts'
import { homePaths } from '../home/home.ts'
import { checkTogether, fileFrom, partOf } from './attachments.ts'
import type { Here } from './cli.ts'
import { filesNamedIn } from './mentions.ts'
import { pipedInput, wholeInput } from './piped.ts'

/** What is asked: the words, or standard input in their place, and what comes with them. */
export async function askedFor(
  here: Here,
  text: string | undefined,
  files: string[],
): Promise<Pick<Question, 'content' | 'parts'>> {
  if (text === undefined && here.io.stdin.isTTY) throw nothingAsked()
  const isTyped = text !== undefined && text !== '-'
  const content = isTyped ? text : wordsOf(await wholeInput(here.io))
  if (content.trim() === '') throw nothingAsked()
  const { secrets } = homePaths(here.home)
  const named = await Promise.all(files.map((file) => fileFrom(file, { from: here.io.cwd, secrets })))
  const mentioned = await partsNamedIn(here, content)
  const unknown = await unknownAgentIn(here, content)
  if (unknown !== undefined) here.tell(unknown)
  const piped = isTyped ? await pipedInput(here) : undefined
  const parts = [...named, ...mentioned, ...(piped ? [partOf('stdin', piped)] : [])]
  checkTogether(parts)
  return { content, ...(parts.length > 0 && { parts }) }
}

/** What a message names with `@`, ready to go with it. */
export async function partsNamedIn(here: Pick<Here, 'folder' | 'home' | 'app'>, content: string): Promise<Part[]> {
  const ground = { from: here.folder, secrets: homePaths(here.home).secrets }
  const parts = await filesNamedIn(content, ground, async (name) => isAgent(await here.app(), here.folder, name))
  checkTogether(parts)
  return parts
}

/** The name of an agent, with or without its `@`; one that is not there is told before anything is handed in. */
export async function agentNamed(here: Pick<Here, 'folder' | 'app'>, text: string): Promise<string> {
  const name = text.replace(/^@/, '')
  await (await here.app()).checkAgent(here.folder, name)
  return name
}

/**
 * What to say of words that begin with `@name` when nobody has that name, and no file. An agent that cannot be given work
 * is refused: its name was meant.
 */
export async function unknownAgentIn(here: Pick<Here, 'folder' | 'app'>, content: string): Promise<string | undefined> {
  const [, name] = /^@([a-z0-9][a-z0-9-]*)(?=\s|$)/.exec(content) ?? []
  const app = await here.app()
  if (name === undefined || existsSync(join(here.folder, name)) || (await isAgent(app, here.folder, name)))
    return undefined
  await refuseUnusable(app, here.folder, name)
  const close = nearest(
    name,
    (await app.agents(here.folder)).map((agent) => agent.name),
  )
  return `nobody is called @${name}: it stays a part of what is said    ${close ? `did you mean @${close}?` : 'heddle agents'}`
}

async function refuseUnusable(app: App, folder: string, name: string): Promise<void> {
  await app.checkAgent(folder, name).catch((error: unknown) => {
    if (!(error instanceof HeddleError && error.code === 'agent_unknown')) throw error
  })
}

async function isAgent(app: App, folder: string, name: string): Promise<boolean> {
  const isPersona = (await app.personas()).some(({ id }) => id === name)
  return isPersona || (await app.agents(folder)).some((agent) => agent.name === name)
}

function wordsOf(input: Buffer): string {
  if (isUtf8(input)) return input.toString('utf8').replace(/\r?\n$/, '')
  throw new Misuse('standard input is no text', 'say what you want to know of it: heddle ask "what is this" < FILE')
}

function nothingAsked(): Misuse {
  return new Misuse('there is no question', 'write: heddle ask "…", or pipe it in: heddle ask -', 'missing_argument')
}
