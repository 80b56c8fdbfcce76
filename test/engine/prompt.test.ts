import { expect, test } from 'vitest'
import { type PromptParts, systemPrompt } from '../../src/engine/model/prompt.ts'

const files = [
  { name: 'AGENTS.md', text: 'rules' },
  { name: 'SOUL.md', text: 'soul' },
  { name: 'USER.md', text: 'Ada' },
]
const parts: PromptParts = {
  role: { kind: 'general' },
  identity: null,
  isPrivate: true,
  isChild: false,
  files,
  tools: ['read_file', 'list_dir'],
  profilePrompt: null,
  threadPrompt: null,
  agents: [],
}

test('a prompt is made of the same parts in the same order every time', () => {
  const prompt = systemPrompt(parts)
  expect(prompt).toBe(systemPrompt({ ...parts }))
  const places = ['an agent of heddle', '## AGENTS.md\nrules', '## SOUL.md', '## USER.md', 'read_file, list_dir'].map(
    (text) => prompt.indexOf(text),
  )
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
})

test('a persona is named first, with its soul', () => {
  const prompt = systemPrompt({ ...parts, identity: { name: 'Lotte', soul: 'Calm.', emoji: '🦉' } })
  expect(prompt).toMatch(/^You are Lotte 🦉\..*\nCalm\./)
})

test('a child is told the working rules and nothing about the user', () => {
  const prompt = systemPrompt({ ...parts, isChild: true, identity: { name: 'Lotte', soul: 'Calm.' }, tools: [] })
  expect(prompt).toContain('rules')
  expect(prompt).not.toMatch(/Ada|soul|Calm/)
  expect(prompt).toContain('you can only answer')
})
