import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface LockedPackage {
  version?: string
  resolved?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const locked = JSON.parse(read('package-lock.json')).packages as Record<string, LockedPackage>

test('npm ci finds a version of every package, also of those for other platforms', () => {
  const missing = Object.entries(locked).flatMap(([path, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter((name) => !isLocked(path, name))
      .map((name) => `${path || 'package.json'} needs ${name}`),
  )
  expect(missing).toEqual([])
})

test('the lock file is that of package.json', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as LockedPackage
  expect(locked['']).toMatchObject({ dependencies, devDependencies })
})

test('a build installs what is locked and nothing else', () => {
  expect(read('.ci/run')).toMatch(/^npm ci$/m)
})

/** Whether the package at a path finds a package as Node does: beside its own, or in a folder above. */
function isLocked(path: string, name: string): boolean {
  if (`${path}${path && '/'}node_modules/${name}` in locked) return true
  return path !== '' && isLocked(path.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, ''), name)
}
