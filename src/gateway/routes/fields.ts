import { z } from 'zod'
import { maxPage } from '../../api/views/page.ts'

/** A folder, as the caller names it; the App finds out which one it is. */
export const folder = z.string().startsWith('/', 'must be a whole path').max(4096)

export const label = z.string().max(200)

/** The session that an input goes to. */
export const target = label.describe('a label, session:LABEL, turn:ID or persona:ID; a new label starts a session')

/** A thread's own system prompt. */
export const ownPrompt = z.string().max(100_000).nullable().describe('null removes it')

/** A reference such as `run:ID` or `file:PATH:LINE`, or a part of an id. */
export const reference = z.string().max(8192)

/** A yes or no in an address. */
export const flag = z.stringbool()

export const count = z.int().min(0).max(1_000_000)

/** A number in an address. */
export const countInQuery = z.coerce.number().int().min(0).max(1_000_000)

/** A part of a list: how many rows, and after which cursor. */
export const page = {
  limit: z.coerce.number().int().min(1).max(maxPage).exactOptional(),
  after: z.string().max(500).exactOptional(),
}

export const part = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('image'),
    path: z.string().max(4096).exactOptional(),
    mediaType: z.string().max(200),
    data: z.string(),
  }),
  z.strictObject({
    type: z.literal('file'),
    path: z.string().max(4096),
    mediaType: z.string().max(200),
    data: z.string(),
  }),
])
