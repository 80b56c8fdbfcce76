import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../../api/app.ts'
import type { Question } from '../../api/views/question.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Part } from '../../domain/message.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { homePaths } from '../../home/home.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../terminal/screen.ts'
import { assertTotalSize, fileFrom, partOf } from './attachments.ts'
import { mentionedFiles } from './mentions.ts'
import { pipedInput, wholeInput } from './piped-input.ts'

/** Reads the question: the given text or stdin, with its attachments, and notices about it, which are shown as well. */
export async function readPrompt(
  here: CommandContext,
  text: string | undefined,
  files: string[],
): Promise<{ prompt: Pick<Question, 'content' | 'parts'>; notices: string[] }> {
  if (text === undefined && here.io.stdin.isTTY) throw missingQuestion()
  const isTyped = text !== undefined && text !== '-'
  const content = isTyped ? text : decodeInput(await wholeInput(here.io))
  if (content.trim() === '') throw missingQuestion()
  const { secrets } = homePaths(here.home)
  const attached = await Promise.all(files.map((file) => fileFrom(file, { from: here.io.cwd, secrets })))
  const { parts: mentioned, notice: unknown } = await mentionsIn(here, content)
  if (unknown !== undefined) here.tell(unknown)
  const piped = isTyped ? await pipedInput(here) : undefined
  const parts = [...attached, ...mentioned, ...(piped ? [partOf('stdin', piped)] : [])]
  assertTotalSize(parts)
  return {
    prompt: { content, ...(parts.length > 0 && { parts }) },
    notices: unknown === undefined ? [] : [unknown],
  }
}

/** What a message mentions with `@`: files, as parts, and a notice for a name that nothing has. */
export async function mentionsIn(
  here: Pick<CommandContext, 'folder' | 'home' | 'client'>,
  content: string,
): Promise<{ parts: Part[]; notice: string | undefined }> {
  const parts = await mentionedParts(here, content)
  return { parts, notice: await unknownAgentNotice(here, content) }
}

async function mentionedParts(
  here: Pick<CommandContext, 'folder' | 'home' | 'client'>,
  content: string,
): Promise<Part[]> {
  const roots = { from: here.folder, secrets: homePaths(here.home).secrets }
  const parts = await mentionedFiles(content, roots, async (name) => isAgent(await here.client(), here.folder, name))
  assertTotalSize(parts)
  return parts
}

/** Name of an agent, with or without `@`. Throws before anything is submitted if it cannot be used. */
export async function checkAgentName(here: Pick<CommandContext, 'folder' | 'client'>, text: string): Promise<string> {
  const name = text.replace(/^@/, '')
  await (await here.client()).checkAgent(here.folder, name)
  return name
}

/**
 * Notice for a message that begins with `@name` when there is no such agent or file. Throws for an agent that exists and
 * cannot be used.
 */
async function unknownAgentNotice(
  here: Pick<CommandContext, 'folder' | 'client'>,
  content: string,
): Promise<string | undefined> {
  const [, name] = /^\s*@([a-z0-9][^\s,:/"'`(]*)(?=[\s,:]|$)/i.exec(content) ?? []
  const client = await here.client()
  if (name === undefined || existsSync(join(here.folder, name)) || (await isAgent(client, here.folder, name)))
    return undefined
  await assertUsable(client, here.folder, name.toLowerCase())
  const close = nearest(
    name.toLowerCase(),
    (await client.agents(here.folder)).map((agent) => agent.name),
  )
  return `no agent @${printable(name)}; sent as plain text    ${close ? `did you mean @${close}?` : 'heddle agents'}`
}

async function assertUsable(client: App, folder: string, name: string): Promise<void> {
  await client.checkAgent(folder, name).catch((error: unknown) => {
    if (!(error instanceof HeddleError && error.code === 'agent_unknown')) throw error
  })
}

async function isAgent(client: App, folder: string, written: string): Promise<boolean> {
  const name = written.toLowerCase()
  const isPersona = (await client.personas()).some(({ id }) => id.toLowerCase() === name)
  return isPersona || (await client.agents(folder)).some((agent) => agent.name === name)
}

function decodeInput(input: Buffer): string {
  if (isUtf8(input)) return input.toString('utf8').replace(/\r?\n$/, '')
  throw new UsageError('standard input is not text', 'ask about it: heddle ask "what is this?" < FILE')
}

function missingQuestion(): UsageError {
  return new UsageError('no question given', 'write: heddle ask "…", or pipe it in: heddle ask -', 'missing_argument')
}
