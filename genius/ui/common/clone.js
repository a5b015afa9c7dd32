// At every event Gradio's page copies each property of the components that show progress by structuredClone, two
// functions of each, too, which throws: hundreds of exceptions. What cannot change is its own copy, and Svelte takes a
// function as it is when its copy fails.
{
  const clone = structuredClone;
  window.structuredClone = (value, ...more) => Object(value) === value && typeof value !== 'function' ? clone(value, ...more) : value;
}
