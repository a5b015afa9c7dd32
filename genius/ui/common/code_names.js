// Names of codes go to the page's script.
const draw = value => {
  if (value) genius.setNames(value);
  return [];
};
