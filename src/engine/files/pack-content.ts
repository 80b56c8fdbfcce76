import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { StoredContent } from '../../store/rows/file-changes.ts'

/** Compresses content for storage, as text that every database takes. */
export async function packContent(hash: string, bytes: Buffer): Promise<StoredContent> {
  return { hash, bytes: bytes.length, packed: (await promisify(gzip)(bytes)).toString('base64') }
}

export async function unpackContent({ packed }: StoredContent): Promise<Buffer> {
  return promisify(gunzip)(Buffer.from(packed, 'base64'))
}
