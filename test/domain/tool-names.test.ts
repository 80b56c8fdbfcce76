import { describe, expect, test } from 'vitest'
import { canonicalToolName, isBookkeeping, nearestTool, toolNames } from '../../src/domain/tools/tool-names.ts'

describe('the names of tools', () => {
  test.each(toolNames)('%s is its own name', (name) => {
    expect(canonicalToolName(name)).toBe(name)
  })

  test.each([
    ['Read', 'read_file'],
    ['Write', 'write_file'],
    ['Edit', 'edit_file'],
    ['MultiEdit', 'edit_file'],
    ['Glob', 'list_dir'],
    ['Grep', 'search_files'],
    ['LS', 'list_dir'],
    ['Bash', 'exec'],
    ['WebFetch', 'web_fetch'],
    ['Task', 'spawn_agent'],
    ['Agent', 'spawn_agent'],
    ['webfetch', 'web_fetch'],
    ['apply_patch', 'edit_file'],
    ['run_shell_command', 'exec'],
    ['READ-FILE', 'read_file'],
    [' read file ', 'read_file'],
  ])('%s is called %s here', (spelling, name) => {
    expect(canonicalToolName(spelling)).toBe(name)
  })

  test.each(['', 'constructor', '__proto__', 'toString', 'WebSearch', 'mcp__github__list', '*'])(
    '%j is no tool of ours',
    (spelling) => {
      expect(canonicalToolName(spelling)).toBeUndefined()
    },
  )

  test('a pattern that only finds names gives no tool that shows what is in files', () => {
    expect(canonicalToolName('Glob')).not.toBe('search_files')
  })

  test('a mistyped name finds the one that was meant', () => {
    expect([nearestTool('raed_file'), nearestTool('Baash'), nearestTool('quantum_flux')]).toEqual([
      'read_file',
      'exec',
      undefined,
    ])
  })

  test('lists for a program of its own are not missed', () => {
    expect([isBookkeeping('TodoWrite'), isBookkeeping('WebSearch')]).toEqual([true, false])
  })
})
