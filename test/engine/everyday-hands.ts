import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'vitest'
import { linesIn } from '../../src/engine/files/match-lines.ts'
import type { Database } from '../setup/places.ts'
import { commandHands } from './command-hands.ts'
import { faultOf, type LineTruth } from './expected-authors.ts'

export const linesOf = (name: string, count = 12) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} that ${name} is made of\n`).join('')

/** A folder in which agents work, and people use git and a shell. */
export function everydayHands(database: Database) {
  const hands = commandHands(database)
  const { at, author } = hands
  const gitIn = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', '-c', 'init.defaultBranch=main', ...args], {
      cwd: folder,
      stdio: 'pipe',
    })
  const git = (...args: string[]) => gitIn(at('.'), ...args)
  return {
    ...hands,
    gitIn,
    git,
    /** What a person does in a shell. */
    sh: (command: string, folder = at('.')) =>
      execFileSync('bash', ['-ec', command], { cwd: folder, stdio: 'pipe' }).toString(),
    put(path: string, text: string) {
      mkdirSync(dirname(at(path)), { recursive: true })
      writeFileSync(at(path), text)
    },
    commit(message = 'c') {
      git('add', '-A')
      git('commit', '-qm', message)
    },
    /** A call that runs a command. */
    run: (command: string) => ({ name: 'exec', input: { command } }),
    /** `truth`: who wrote the line. */
    check: async (reference: string, expected: unknown, truth = '') =>
      expect.soft(await author(reference), `${reference} ${truth}`).toEqual(expected),
    /** Checks the answers about all lines of a file. `truthOf`: who wrote a line. `isClean`: records tell all of them. */
    async judge(path: string, truthOf: (text: string, line: number) => LineTruth, { isClean = false } = {}) {
      const faults: string[] = []
      for (const [index, text] of linesIn(readFileSync(at(path), 'utf8')).entries()) {
        const [line, truth] = [index + 1, truthOf(text, index + 1)]
        const found = await author(`${path}:${line}`)
        const fault = faultOf(found, truth, { isClean })
        if (fault)
          faults.push(`${path}:${line} ${text}: ${fault}, not ${[truth].flat().join(' or ')}: ${JSON.stringify(found)}`)
      }
      expect.soft(faults).toEqual([])
    },
  }
}
