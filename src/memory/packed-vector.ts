const most = 127

/**
 * A vector's direction as text: a byte for each number, in base64. Its length says nothing about what it means, so that
 * it is not kept; a byte is as exact as comparing needs.
 */
export function packVector(vector: Float32Array): string {
  return Buffer.from(inBytes(vector)).toString('base64')
}

/** The bytes of a packed vector; undefined for one of another length. */
export function unpackVector(text: string, dimensions: number): Int8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === dimensions ? new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) : undefined
}

function inBytes(vector: Float32Array): Int8Array {
  const largest = vector.reduce((found, number) => Math.max(found, Math.abs(number)), 0)
  return Int8Array.from(vector, (number) => Math.round((number / largest) * most))
}

/** How alike two directions are: 1 for the same, 0 for ones that have nothing to do with each other. */
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
