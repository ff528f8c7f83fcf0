/*
 * The app takes the types of answers from the endpoints that give them, so their modules are type-checked here, too, where
 * the DOM's types stand before workerd's.
 */
interface SubtleCrypto {
  timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean
}
