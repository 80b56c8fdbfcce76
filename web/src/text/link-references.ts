import { splitReferences } from './references.ts'

/** The part of an HTML syntax tree that is looked at here. */
interface TreeNode {
  type: string
  tagName?: string
  value?: string
  properties?: Record<string, unknown>
  children?: TreeNode[]
}

/** Makes links of references in the text of a tree, but for those in code and in other links. */
export function linkReferences(): (tree: TreeNode) => void {
  return (tree) => {
    if (tree.children) tree.children = tree.children.flatMap(linked)
  }
}

function linked(node: TreeNode): TreeNode[] {
  if (node.type === 'text') return textNodes(node)
  const isLeftAlone = node.tagName === 'a' || node.tagName === 'pre'
  if (node.children && !isLeftAlone) node.children = node.children.flatMap(linked)
  return [node]
}

function textNodes(node: TreeNode): TreeNode[] {
  const parts = splitReferences(node.value ?? '')
  if (parts.every(({ href }) => href === undefined)) return [node]
  return parts.map(({ text, href }) => {
    const words = { type: 'text', value: text }
    if (href === undefined) return words
    return { type: 'element', tagName: 'a', properties: { href, dataReference: true }, children: [words] }
  })
}
