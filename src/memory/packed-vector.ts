const maxByte = 127

/**
 * Packs the direction of a vector: a byte per dimension, in base64. The length of the vector carries no meaning and is
 * dropped; a byte is precise enough for comparison.
 */
export function packVector(vector: Float32Array): string {
  return Buffer.from(toBytes(vector)).toString('base64')
}

/** Bytes of a packed vector; undefined if it has other dimensions. */
export function unpackVector(text: string, dimensions: number): Int8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === dimensions ? new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) : undefined
}

function toBytes(vector: Float32Array): Int8Array {
  const largest = vector.reduce((found, number) => Math.max(found, Math.abs(number)), 0)
  return Int8Array.from(vector, (number) => Math.round((number / largest) * maxByte))
}

/** Cosine similarity of two vectors. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    const [x = 0, y = 0] = [a[at], b[at]]
    dot += x * y
    aa += x * x
    bb += y * y
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb)
}
