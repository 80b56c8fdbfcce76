const pattern = /^\[removed: \d+ characters, sha256 [0-9a-f]{64}\]$/

/** Placeholder of a removed text of this length and hash. */
export function tombstoneOf(length: number, sha256: string): string {
  return `[removed: ${length} characters, sha256 ${sha256}]`
}

export function isTombstone(text: string): boolean {
  return pattern.test(text)
}
