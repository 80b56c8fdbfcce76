import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema'
import { syntaxTree } from '@codemirror/language'
import type { Diagnostic } from '@codemirror/lint'
import type { EditorState } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'

/** What is wrong with a text, each at its place: first its form as JSON, then what the schema says. */
export function jsonFindings(state: EditorState, schema: Schema): Diagnostic[] {
  const text = state.doc.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return [
      { ...brokenPlace(state), severity: 'error', message: error instanceof Error ? error.message : 'is not JSON' },
    ]
  }
  const { errors } = new Validator(schema, '2020-12', false).validate(value)
  return leavesOf(errors).map(({ instanceLocation, error }) => ({
    ...placeOf(state, instanceLocation),
    severity: 'error',
    message: error,
  }))
}

/** Only the innermost findings: the ones around them say the same less well. */
function leavesOf(errors: readonly OutputUnit[]): OutputUnit[] {
  const groups = new Set(['properties', 'items', 'additionalProperties', '$ref'])
  const found = errors.filter(({ keyword }) => !groups.has(keyword))
  return found.length > 0 ? found : errors.slice(-1)
}

function brokenPlace(state: EditorState): { from: number; to: number } {
  let place: { from: number; to: number } | undefined
  syntaxTree(state).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError && !place) place = { from: Math.max(0, from - 1), to: Math.min(state.doc.length, to + 1) }
    },
  })
  return place ?? { from: 0, to: Math.min(1, state.doc.length) }
}

/** Place of a value by its JSON pointer (`#/agents/0/agentId`). */
function placeOf(state: EditorState, pointer: string): { from: number; to: number } {
  let node: SyntaxNode | null = syntaxTree(state).topNode.firstChild
  for (const step of pointer.split('/').slice(1)) {
    const next: SyntaxNode | null =
      node && childOf(state, node, decodeURIComponent(step.replace(/~1/g, '/').replace(/~0/g, '~')))
    if (!next) break
    node = next
  }
  return node ? { from: node.from, to: node.to } : { from: 0, to: 0 }
}

function childOf(state: EditorState, node: SyntaxNode, step: string): SyntaxNode | null {
  if (node.name === 'Array') return valuesOf(node)[Number(step)] ?? null
  const property = node.getChildren('Property').find((each) => keyOf(state, each) === step)
  return property?.lastChild ?? null
}

function valuesOf(array: SyntaxNode): SyntaxNode[] {
  const values: SyntaxNode[] = []
  for (let child = array.firstChild; child; child = child.nextSibling)
    if (!/^[[\],]$/.test(child.name) && !child.type.isError) values.push(child)
  return values
}

function keyOf(state: EditorState, property: SyntaxNode): unknown {
  const name = property.getChild('PropertyName')
  try {
    return name && JSON.parse(state.sliceDoc(name.from, name.to))
  } catch {
    return undefined
  }
}
