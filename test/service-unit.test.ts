import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { busyLimit } from '../src/store/sqlite/writer.ts'
import { findProgram } from './setup/packages.ts'

const root = join(import.meta.dirname, '..')
const place = mkdtempSync(join(tmpdir(), 'heddle-unit-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** The unit as a user copies it from the guide, and the seconds that the guide says a stop may take. */
function unitOfGuide(): { unit: string; drainSeconds: number } {
  const guide = readFileSync(join(root, 'docs/guide/daemon.md'), 'utf8')
  const unit = /```ini\n(# ~\/\.config\/systemd\/user\/heddle\.service\n.*?)```/s.exec(guide)?.[1] ?? ''
  return { unit, drainSeconds: Number(/waits up to (\d+) seconds for a locked\s+database/.exec(guide)?.[1]) }
}

/** Values by section and key, as `Service.ExecStart`. */
function settingsOf(unit: string): Map<string, string> {
  const settings = new Map<string, string>()
  let section = ''
  for (const line of unit.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? []
    const [, key, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name !== undefined) section = name
    else if (key !== undefined) settings.set(`${section}.${key}`, value)
    else throw new Error(`neither a section nor a setting: ${line}`)
  }
  return settings
}

/** What is wrong with a unit for a daemon that drains when it is stopped. */
function problemsOf(unit: string, drainSeconds: number): string[] {
  const settings = settingsOf(unit)
  const rules: [string, (value: string | undefined) => boolean][] = [
    ['Service.ExecStart', (value) => value?.startsWith('/') === true && value.endsWith('/heddle up')],
    ['Service.TimeoutStopSec', (value) => Number(value) > drainSeconds],
    ['Service.Restart', (value) => value === 'on-failure'],
    // The others leave a process behind, or kill it before it has drained.
    ['Service.KillMode', (value) => value === undefined || value === 'control-group' || value === 'mixed'],
    ['Service.KillSignal', (value) => value === undefined || value === 'SIGTERM'],
    ['Install.WantedBy', (value) => value === 'default.target'],
  ]
  return rules.flatMap(([key, isRight]) => (isRight(settings.get(key)) ? [] : [key]))
}

test('the unit of the guide lets a daemon drain', () => {
  const { unit, drainSeconds } = unitOfGuide()
  expect(drainSeconds).toBe(busyLimit / 1000)
  expect(problemsOf(unit, drainSeconds)).toEqual([])
})

test.each([
  ['Service.TimeoutStopSec', /TimeoutStopSec=\d+/, 'TimeoutStopSec=30'],
  ['Service.KillMode', /\[Service\]/, '[Service]\nKillMode=process'],
  ['Service.KillSignal', /\[Service\]/, '[Service]\nKillSignal=SIGKILL'],
  ['Service.ExecStart', /heddle up/, 'heddle'],
  ['Service.Restart', /Restart=.*/, 'Restart=always'],
])('a unit with another %s is found out', (key, from, to) => {
  const { unit, drainSeconds } = unitOfGuide()
  expect(problemsOf(unit.replace(from, to), drainSeconds)).toEqual([key])
})

// Where systemd is not installed, the rules above are all that is checked.
test('systemd takes the unit of the guide', () => {
  const { unit } = unitOfGuide()
  const program = findProgram('systemd-analyze')
  const file = join(place, 'heddle.service')
  // A path with a space in it, where a checkout may lie, would need quotes in the unit.
  const checkout = join(place, 'heddle')
  symlinkSync(root, checkout)
  const placed = unit.replace('/path/to/heddle/bin/heddle', join(checkout, 'bin/heddle'))
  expect(placed).not.toBe(unit)
  writeFileSync(file, placed)
  const said = program === undefined ? '' : verdictOf(program, file)
  expect(said).toBe('')
})

/** What systemd says about this unit; complaints about other units of the machine are not ours. */
function verdictOf(program: string, file: string): string {
  const { stderr, error } = spawnSync(program, ['verify', '--man=no', file], { encoding: 'utf8' })
  if (error) throw error
  return stderr
    .split('\n')
    .filter((line) => line.includes('heddle'))
    .join('\n')
}
