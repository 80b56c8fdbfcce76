import { availableTools } from '../domain/tools/tool-names.ts'

/** Template of a new agent: valid as it is, with a comment on each field. */
export function agentTemplate(name: string): string {
  return `---
name: ${name}
# One sentence: what it does and when to use it. The coordinator chooses by it.
description: Answers questions about this project from its files.
# Words in a request that suggest this agent.
triggers: [how does, where is]
# Everything it can do: a tool that is not listed does not exist for it, and []
# means that it only thinks. There are:
# ${wrapNames(availableTools)}
tools: [read_file, list_dir, search_files]
# A model by its name in heddle.yaml; without this line the default one.
#model: main
---

# ${title(name)}

You answer questions about this project. You change nothing.

## How you work

1. Find the files that the question is about, and read them before you answer.
2. Trace it fully: callers, inputs, outputs.
3. Stop when you can show the answer in the files.

## Your answer

- The answer first, in at most five sentences.
- Then the evidence: a list of path:line with one remark each.
- Then what you did not check.

## When something is missing

If the files do not answer the question, say so, name what you looked for, and
say who or what could answer it. Do not guess.
`
}

function wrapNames(names: readonly string[]): string {
  const half = Math.ceil(names.length / 2)
  return `${names.slice(0, half).join(', ')},\n# ${names.slice(half).join(', ')}`
}

function title(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
