import { z } from 'zod'

/** A folder, as the caller names it; the App finds out which one it is. */
export const folder = z.string().startsWith('/', 'must be a whole path').max(4096)

export const label = z.string().max(200)

/** A reference such as `run:ID` or `file:PATH:LINE`, or a part of an id. */
export const reference = z.string().max(8192)

/** A yes or no in an address. */
export const flag = z.stringbool()

export const count = z.int().min(0).max(1_000_000)

/** A number in an address. */
export const countInQuery = z.coerce.number().int().min(0).max(1_000_000)

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
