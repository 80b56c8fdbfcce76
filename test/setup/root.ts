import { describe, test } from 'vitest'

export const isRoot = process.getuid?.() === 0
const nobody = 65534

/** What only root can try. For others it is not there: a test that is left out would count as one that failed. */
export const testAsRoot: typeof test = isRoot ? test : (Object.assign(() => undefined, test) as never)
export const describeAsRoot: typeof describe = isRoot ? describe : (Object.assign(() => undefined, describe) as never)

/** Does something without root's right to read everything. */
export function withoutRights<T>(act: () => T): T {
  if (!isRoot) return act()
  process.seteuid?.(nobody)
  try {
    return act()
  } finally {
    process.seteuid?.(0)
  }
}
