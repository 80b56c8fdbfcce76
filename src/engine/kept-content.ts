import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { KeptContent } from '../store/file-changes.ts'

/** A content as it is kept: packed, as text that every database takes. */
export async function packContent(hash: string, bytes: Buffer): Promise<KeptContent> {
  return { hash, bytes: bytes.length, packed: (await promisify(gzip)(bytes)).toString('base64') }
}

export async function unpackContent({ packed }: KeptContent): Promise<Buffer> {
  return promisify(gunzip)(Buffer.from(packed, 'base64'))
}
