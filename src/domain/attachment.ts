import type { Part } from './message.ts'
import type { Model } from './model.ts'

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const texts = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh)\b)|\+(json|xml|yaml)$/
/** What one part may hold: providers refuse more. */
export const mostPartBytes = 5 * 1024 * 1024

/** Why a model cannot be given this part; undefined when it can. Text files go to every model. */
export function whyRefused(part: Part, model: Pick<Model, 'name' | 'sees' | 'readsPdf'>): string | undefined {
  const what = part.path ?? 'the picture'
  if (bytesOf(part) > mostPartBytes) return `${what} has more than 5 MB`
  if (isTextFile(part)) return undefined
  if (part.mediaType === 'application/pdf')
    return model.readsPdf ? undefined : `the model ${model.name} cannot read PDF documents`
  if (!pictures.includes(part.mediaType))
    return `${what} is ${part.mediaType}, and models read text, PDF, PNG, JPEG, GIF and WebP`
  return model.sees ? undefined : `the model ${model.name} cannot see pictures`
}

/** A file that is told to models as text. */
export function isTextFile(part: Part): boolean {
  return part.type === 'file' && texts.test(part.mediaType)
}

/** A part as it is told of where it is not shown. */
export function describePart(part: Part): string {
  const bytes = bytesOf(part)
  const size =
    bytes < 1024
      ? `${bytes} B`
      : bytes < 1024 ** 2
        ? `${Math.round(bytes / 1024)} KB`
        : `${(bytes / 1024 ** 2).toFixed(1)} MB`
  return `${part.path ?? 'a picture'}, ${part.mediaType}, ${size}`
}

/** What a part holds, in bytes: its data is base64. */
export function bytesOf({ data }: Part): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor((data.length * 3) / 4) - padding
}
