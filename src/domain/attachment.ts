import type { Part } from './message.ts'
import type { Model } from './model.ts'

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const texts = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh)\b)|\+(json|xml|yaml)$/
/** Max size of one part; providers refuse more. */
export const maxPartBytes = 5 * 1024 * 1024

/** Reason why a model cannot take this part; undefined when it can. Every model takes text files. */
export function partRefusal(part: Part, model: Pick<Model, 'name' | 'sees' | 'readsPdf'>): string | undefined {
  const what = part.path ?? 'the picture'
  if (partBytes(part) > maxPartBytes) return `${what} is larger than 5 MB`
  if (isTextFile(part)) return undefined
  if (part.mediaType === 'application/pdf')
    return model.readsPdf ? undefined : `the model ${model.name} cannot read PDF documents`
  if (!pictures.includes(part.mediaType))
    return `${what} is ${part.mediaType}, and models read text, PDF, PNG, JPEG, GIF and WebP`
  return model.sees ? undefined : `the model ${model.name} cannot read images`
}

/** Whether a file is sent to models as text. */
export function isTextFile(part: Part): boolean {
  return part.type === 'file' && texts.test(part.mediaType)
}

/** One-line description, for places that do not show the part itself. */
export function describePart(part: Part): string {
  const bytes = partBytes(part)
  const size =
    bytes < 1024
      ? `${bytes} B`
      : bytes < 1024 ** 2
        ? `${Math.round(bytes / 1024)} KB`
        : `${(bytes / 1024 ** 2).toFixed(1)} MB`
  return `${part.path ?? 'a picture'}, ${part.mediaType}, ${size}`
}

/** Size in bytes of a part's base64 data. */
export function partBytes({ data }: Part): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor((data.length * 3) / 4) - padding
}
