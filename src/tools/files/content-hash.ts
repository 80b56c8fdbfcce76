import { hash } from 'node:crypto'

/** SHA-256 of a file's whole content, in hexadecimal. */
export function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes)
}
