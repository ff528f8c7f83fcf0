import { unsupportedMediaType } from '../http/errors.ts'

/**
 * The media types of exports and their responses. `application/protobuf` is the registered name of
 * `application/x-protobuf`.
 */
const MEDIA_TYPES = ['application/x-protobuf', 'application/protobuf', 'application/json'] as const
export type MediaType = (typeof MEDIA_TYPES)[number]

export const isJsonType = (type: MediaType): boolean => type === 'application/json'

/** The media type of an export's body, without parameters. Errors: 415. */
export function mediaTypeOf(contentType: string | null): MediaType {
  const [name = ''] = (contentType ?? '').split(';')
  const type = MEDIA_TYPES.find(known => known === name.trim().toLowerCase())
  if (!type) throw unsupportedMediaType('The body must be sent as application/x-protobuf or application/json')
  return type
}
